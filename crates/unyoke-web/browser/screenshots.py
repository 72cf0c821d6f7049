"""Pictures of all views, wide and on a phone, light and dark: `screenshots.py FOLDER`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from conftest import FLAGS, PHONE, VIEWS, computed
from playwright.sync_api import sync_playwright

import studies

WIDE = {"width": 1280, "height": 860}


def running(folder):
    """A study with runs under way, which end when they are terminated."""
    studies.plate(folder)
    (folder / "wait").touch()
    runner = subprocess.Popen([studies.PROGRAM, "run"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (folder / "study.db").exists():
        assert runner.poll() is None
    return runner


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        place = Path(place)
        studies.coating(place / "coating")
        runner = running(place / "plate")
        server = studies.Server(place, "coating/study.toml", "plate/study.toml")
        browser = playwright.chromium.launch(executable_path=os.environ["UNYOKE_CHROMIUM"], args=FLAGS)
        try:
            for scheme in ("light", "dark"):
                for name, size in (("wide", WIDE), ("phone", PHONE)):
                    context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=1 if name == "wide" else 2)
                    context.add_init_script("localStorage.setItem('unyoke.name', 'Ada')")
                    page = context.new_page()
                    page.goto(server.write_url)
                    page.screenshot(path=out / f"studies-{name}-{scheme}.png", full_page=True)
                    for view in VIEWS:
                        show(page, server, view)
                        page.screenshot(path=out / f"{view}-{name}-{scheme}.png", full_page=True)
                    context.close()
        finally:
            browser.close()
            server.stop()
            (place / "plate/go").touch()
            runner.terminate()
            runner.wait()


def show(page, server, view):
    """A view with something to see on it."""
    study = "plate" if view == "live" else "coating"
    page.goto(server.url(view, study=study))
    computed(page)
    page.wait_for_selector("#connection.on")
    if view == "live":
        page.locator("article.run").first.get_by_text("Log", exact=True).click()
        page.wait_for_selector(".log pre:has-text('measuring')")
    if view == "front":
        page.locator("#weight-0").evaluate("(slider) => { slider.value = 70; slider.dispatchEvent(new Event('input', { bubbles: true })); }")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
