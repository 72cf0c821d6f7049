"""Every view can be seen, by everybody, at every size."""

import pytest
from conftest import PHONE, VIEWS, WIDE, computed, violations

import studies

PRESENT = {
    "next": ["Measure next", "What each measurement is worth", "Is it worth continuing?", "break-even cost"],
    "front": ["Designs of the front", "What was measured", "How important is each objective"],
    "designs": ["temperature", "hardness", "gloss", "imported", "the coating ran off the panel"],
    "spending": ["By measurement", "What the rest would buy", "cost of one"],
    "live": ["Running", "Waiting for somebody", "Failures", "the coating ran off the panel", "Latest results"],
    "bench": ["Ask for the next measurement", "Save", "Failed…", "Withdraw…", "Latest entries", "Queue a design…"],
    "models": ["Can the models be trusted?", "Observed against predicted", "What parameters do", "standard deviation"],
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_what_it_is_for(shown, visit, view):
    page = computed(visit(shown.url(view)))
    assert page.locator("nav.views [aria-current=page]").count() == 1
    text = page.locator("body").inner_text()
    for words in PRESENT[view]:
        assert words in text, words
    page.wait_for_selector("#connection.on")


@pytest.mark.parametrize("view", VIEWS)
def test_people_who_cannot_see_or_point_can_use_every_view(shown, visit, view):
    page = computed(visit(shown.url(view)))
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    for scheme, size in (("light", WIDE), ("dark", WIDE), ("light", PHONE), ("dark", PHONE)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        assert violations(page) == [], (scheme, size)


@pytest.mark.parametrize("width", [390, 820, 1440, 3840])
def test_no_view_is_wider_than_the_screen(shown, visit, width):
    page = visit(shown.url("next"), size={"width": width, "height": 900})
    for view in VIEWS:
        page.goto(shown.url(view))
        computed(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, view


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_read_without_javascript(shown, visit, view):
    page = visit(shown.url(view), name=None, java_script_enabled=False)
    text = page.locator("body").inner_text()
    words = [w for w in PRESENT[view] if w not in ("Ask for the next measurement", "Save", "Failed…", "Withdraw…", "Queue a design…", "How important is each objective")]
    for one in words:
        assert one in text, one
    # Forms that need a script are not offered.
    assert page.locator("form[data-action]:visible").count() == 0


def test_without_javascript_prices_are_compared_by_the_server(shown, visit):
    page = visit(shown.url("next"), name=None, java_script_enabled=False)
    page.locator("input.price").first.fill("999")
    page.get_by_role("button", name="Compare").click()
    assert "price." in page.url
    assert page.locator("input.price").first.input_value() == "999"


def test_keys_alone_lead_to_the_content_and_through_the_views(shown, visit):
    page = visit(shown.url("next"))
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    page.locator("nav.views a").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/front")


def test_a_page_weighs_less_than_150_kilobytes(shown, visit):
    for view in VIEWS:
        page = visit("about:blank", name=None)
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        sizes = []
        network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        page.goto(shown.url(view))
        computed(page)
        assert 20_000 < sum(sizes) < 150_000, (view, sum(sizes))


def test_changed_prices_rank_anew_and_change_nothing(shown, visit):
    page = computed(visit(shown.url("next")))
    before = studies.evaluations(shown.folder)
    rows = page.locator("#prices tbody tr")
    # Ranked here, the table says what the server said.
    ratios = page.locator("#prices .ratio").all_inner_texts()
    evens = page.locator("#prices .even").all_inner_texts()
    best = page.locator("#prices tr.best").get_attribute("data-name")
    other = next(row for row in rows.all() if row.get_attribute("data-name") != best)
    winner = page.locator("#prices tr.best input.price")
    winner.fill("100000")
    assert page.locator("#prices tr.best").get_attribute("data-name") == other.get_attribute("data-name")
    assert f"{other.get_attribute('data-name')} comes first" in page.locator("#verdict").inner_text()
    page.get_by_text("Prices of the study").click()
    assert page.locator("#prices tr.best").get_attribute("data-name") == best
    assert page.locator("#prices .ratio").all_inner_texts() == ratios
    assert page.locator("#prices .even").all_inner_texts() == evens
    assert studies.evaluations(shown.folder) == before


def test_sliders_pick_a_design_that_is_marked_everywhere(shown, visit):
    page = computed(visit(shown.url("front")))
    for weights in ([100, 0], [0, 100]):
        for i, weight in enumerate(weights):
            page.locator(f"#weight-{i}").evaluate("(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }", weight)
        chosen = page.locator("tr.on[data-shares]")
        assert chosen.count() == 1
        # The best in the only objective that counts.
        place = weights.index(100)
        assert float(chosen.get_attribute("data-shares").split()[place]) == 1.0
        key = chosen.get_attribute("data-key")
        assert page.locator(f"svg g.line.on[data-key='{key}']").count() == 1
        assert page.locator(f"svg g.on[data-key='{key}'][data-at]").count() >= 1
    page.get_by_role("button", name="Search all designs with these weights").click()
    page.wait_for_selector("#found dl.design")


def test_pointing_at_a_mark_tells_of_it_and_pressing_selects_it(shown, visit):
    page = computed(visit(shown.url("front")))
    mark = page.locator("svg g[data-row=p1][data-at]").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "design" in page.locator(".tip:visible").inner_text()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("tr.on").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator("tr.on").count() == 0


def test_another_output_and_pair_of_parameters_can_be_chosen(shown, visit):
    page = computed(visit(shown.url("models")))
    page.select_option("#output", "gloss")
    page.wait_for_url("**output=gloss**")
    labels = "[data-part=contours] svg[role=img]"
    assert "gloss" in page.locator(labels).first.get_attribute("aria-label")
    assert "standard deviation" in page.locator(labels).last.get_attribute("aria-label")
    pairs = page.locator("#pair option").all_inner_texts()
    page.select_option("#pair", pairs[-1])
    page.wait_for_url("**pair=**")
    assert pairs[-1].split(" and ")[0] in page.locator(labels).first.get_attribute("aria-label")


def test_several_studies_are_listed(finished, visit, serve, tmp_path):
    for name in ("coating", "hostile"):
        studies.copy(finished[name], tmp_path / name)
    server = serve(tmp_path, "coating/study.toml", "hostile/study.toml", write=False)
    page = visit(server.read_url)
    assert page.locator(".card").count() == 2
    assert violations(page) == []
    page.get_by_role("link", name="coating").click()
    page.wait_for_selector("h1:has-text('What next')")
    page.get_by_role("link", name="All studies").click()
    page.wait_for_selector("h1:has-text('Studies')")


def test_whoever_may_only_read_is_offered_no_action(finished, visit, serve, tmp_path):
    server = serve(studies.copy(finished["coating"], tmp_path / "coating"), write=False)
    for view in VIEWS:
        page = visit(server.url(view))
        assert page.locator("form[data-action]").count() == 0, view


def test_without_a_token_one_is_asked_for(shown, visit):
    page = visit(shown.base, name=None)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Open").click()
    assert "not a token" in page.locator("[role=alert]").inner_text()
    assert violations(page) == []
    page.get_by_label("Token").fill(shown.read_url.split("token=")[1])
    page.get_by_role("button", name="Open").click()
    page.wait_for_selector("h1:has-text('What next')")


def test_names_and_reasons_are_text_wherever_they_come_from(finished, visit, serve, tmp_path):
    server = serve(studies.copy(finished["hostile"], tmp_path / "hostile"))
    ids = visit(server.url("next", study="x"), name=None)
    study = ids.evaluate("async () => (await (await fetch('/api/studies')).json())[0].id")
    for view in VIEWS:
        page = computed(visit(server.url(view, study=study), name=studies.HOSTILE))
        assert page.locator("img").count() == 0, view
        assert studies.HOSTILE in page.locator("body").inner_text(), view
        assert page.title() != "owned"
        # The script sets text as text too.
        for row in page.locator("tr[data-key]:visible").all()[:1]:
            row.click()
        assert page.locator("img").count() == 0, view
