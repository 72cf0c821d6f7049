"""What tests have in common: one browser for all, studies that are made once and copied, servers that end."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import studies

AXE = Path(os.environ["UNYOKE_AXE"]).read_text()
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
]
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
VIEWS = ["next", "front", "designs", "spending", "live", "bench", "models"]


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["UNYOKE_CHROMIUM"], args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Studies that tests copy or only look at."""
    root = tmp_path_factory.mktemp("studies")
    return {name: getattr(studies, name)(root / name) for name in ["coating", "hostile"]}


@pytest.fixture
def serve():
    """Starts servers that end with the test."""
    started = []

    def start(*arguments, **settings):
        started.append(studies.Server(*arguments, **settings))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def shown(finished):
    """A server that shows the finished study; nobody changes it."""
    server = studies.Server(finished["coating"]).wait_for_models()
    yield server
    server.stop()


@pytest.fixture
def own(finished, tmp_path, serve):
    """A server with a copy of the finished study, which the test may change."""
    return serve(studies.copy(finished["coating"], tmp_path / "coating"))


@pytest.fixture
def visit(browser):
    """Opens an address in a fresh profile. Mistakes on the page's console fail the test."""
    contexts, troubles = [], []

    def open_page(url, size=WIDE, name="Ada", **settings):
        context = browser.new_context(viewport=size, **settings)
        context.set_default_timeout(15_000)
        contexts.append(context)
        if name:
            context.add_init_script(f"try {{ localStorage.setItem('unyoke.name', {name!r}); }} catch {{}}")
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("console", lambda message: troubles.append(message.text) if is_trouble(message) else None)
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def is_trouble(message):
    """Lost connections and refusals are part of some tests; whatever the policy forbids is not."""
    return message.type == "error" and "Failed to load resource" not in message.text and "ERR_" not in message.text


def computed(page):
    """Waits until nothing on the page is being computed any more."""
    page.wait_for_function("() => !Array.from(document.querySelectorAll('.state')).some((p) => p.textContent.includes('comput'))")
    return page


def violations(page):
    """What axe-core finds that is serious or worse."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in grave]
