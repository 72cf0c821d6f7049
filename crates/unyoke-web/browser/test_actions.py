"""Everything that can be done on the page becomes an event in the journal, once."""

import json
import subprocess

from conftest import PHONE, computed

import studies


def status(server):
    return json.loads(studies.unyoke(server.folder, "status", "--json"))


def find(server, number):
    return next(one for one in studies.evaluations(server.folder) if one["evaluation"] == number)


def waiting(server):
    """The evaluation that waits to be made by hand."""
    return status(server)["pending"][0]["evaluation"]


def unfold(page, words, within):
    page.locator(within).get_by_text(words, exact=True).click()


def test_ask_then_enter_a_number_on_a_phone(own, visit):
    page = visit(own.url("bench"), size=PHONE, name=None, has_touch=True, is_mobile=True)
    before = page.locator("article.measure").count()
    page.get_by_role("button", name="Ask for the next measurement").tap()
    # The name is asked for once.
    page.get_by_label("Your name stands in the study").fill("Grace")
    page.get_by_role("button", name="Continue").tap()
    page.wait_for_function(f"() => document.querySelectorAll('article.measure').length === {before + 1}")
    number = status(own)["pending"][-1]["evaluation"]
    card = page.locator(f"#card-{number}")
    assert card.get_by_role("button", name="Save").bounding_box()["height"] >= 44
    card.locator("input.value").fill("97.5")
    card.get_by_role("button", name="Save").tap()
    card.wait_for(state="detached")
    told = find(own, number)
    assert (told["status"], [one["value"] for one in told["values"].values()]) == ("completed", [97.5])
    page.wait_for_selector(f"[data-part=entry-{number}]:has-text('Grace')")
    assert page.locator("dialog").count() == 0


def test_a_value_far_from_all_others_is_asked_about(own, visit):
    page = visit(own.url("bench"), size=PHONE)
    number = waiting(own)
    card = page.locator(f"#card-{number}")
    card.locator("input.value").fill("10400")
    card.get_by_role("button", name="Save").click()
    assert "Is 10400 right?" in card.locator("form[data-action=tell] .error").inner_text()
    assert find(own, number)["status"] == "pending"
    card.locator("input.value").fill("104")
    card.get_by_role("button", name="Save").click()
    card.wait_for(state="detached")
    assert find(own, number)["status"] == "completed"


def test_standard_error_cost_and_what_was_made_differently(own, visit):
    page = visit(own.url("bench"))
    number = waiting(own)
    card = page.locator(f"#card-{number}")
    card.locator("input.value").fill("88")
    card.get_by_text("Standard error, real cost, made differently").click()
    card.get_by_label("Standard error of").fill("1.5")
    card.get_by_label("What it really cost").fill("2.5")
    card.get_by_label("hardener").fill("4.5")
    card.get_by_role("button", name="Save").click()
    card.wait_for(state="detached")
    told = find(own, number)
    assert list(told["values"].values()) == [{"value": 88.0, "sd": 1.5}]
    assert (told["spent"], told["design"]["hardener"]) == (2.5, 4.5)


def test_failed_then_made_again_then_withdrawn(own, visit):
    page = visit(own.url("bench"))
    number = waiting(own)
    unfold(page, "Failed…", f"#card-{number}")
    page.locator(f"#card-{number}").get_by_label("Why", exact=True).fill("cracked")
    page.get_by_role("button", name="Record the failure").click()
    page.locator(f"#card-{number}").wait_for(state="detached")
    assert (find(own, number)["status"], find(own, number)["reason"]) == ("failed", "cracked")
    page.goto(own.url("live"))
    failure = page.locator(f"[data-part=failure-{number}]")
    failure.get_by_role("button", name="Make it again").click()
    failure.wait_for(state="detached")
    page.goto(own.url("bench"))
    unfold(page, "Withdraw…", f"#card-{number}")
    page.get_by_role("button", name="Withdraw it").click()
    page.locator(f"#card-{number}").wait_for(state="detached")
    assert find(own, number)["status"] == "withdrawn"


def test_an_entry_is_corrected_then_retracted(own, visit):
    page = visit(own.url("bench"))
    entry = page.locator("article[data-part^=entry-]:has(.result:not(:has-text('failed')))").first
    number = int(entry.get_attribute("data-part").split("-")[1])
    unfold(page, "Correct…", f"[data-part=entry-{number}]")
    entry = page.locator(f"[data-part=entry-{number}]")
    entry.locator("form[data-action=correct] input.value").fill("77.25")
    entry.get_by_role("button", name="Save the correction").click()
    page.wait_for_selector(f"[data-part=entry-{number}] .result:has-text('77.25')")
    assert list(find(own, number)["values"].values())[0]["value"] == 77.25
    unfold(page, "Retract…", f"[data-part=entry-{number}]")
    entry.get_by_label("Why (may be empty)").fill("wrong panel")
    entry.get_by_role("button", name="Retract it").click()
    entry.wait_for(state="detached")
    assert (find(own, number)["status"], find(own, number)["reason"]) == ("retracted", "wrong panel")


def test_a_design_of_ones_own_is_queued_and_taken_out(own, visit):
    page = visit(own.url("bench"))
    unfold(page, "Queue a design…", "#queue")
    page.locator("#queue-design-0").fill("75")
    page.locator("#queue-design-1").fill("30")
    page.locator("#queue-design-2").fill("2.5")
    page.get_by_role("button", name="Queue it").click()
    page.wait_for_selector("#queue li:has-text('temperature=75')")
    assert status(own)["queue"][0]["design"] == {"temperature": 75.0, "time": 30, "hardener": 2.5}
    page.goto(own.url("next"))
    page.locator("[data-part=queue]").get_by_role("button", name="Remove").click()
    page.wait_for_selector("[data-part=queue]:has-text('No design of your own waits')")
    assert status(own)["queue"] == []


def test_what_the_study_refuses_is_said_beside_the_form(own, visit):
    page = visit(own.url("bench"))
    unfold(page, "Queue a design…", "#queue")
    for i, value in enumerate(["9999", "30", "2.5"]):
        page.locator(f"#queue-design-{i}").fill(value)
    page.get_by_role("button", name="Queue it").click()
    page.wait_for_selector("#queue .error:not([hidden])")
    assert "temperature" in page.locator("#queue .error").inner_text()
    # Nothing is kept that will never be taken.
    assert page.evaluate("() => JSON.parse(localStorage.getItem('unyoke.outbox'))") == []


def test_a_measurement_is_paused_and_resumed(own, visit):
    page = visit(own.url("next"))
    row = page.locator("[data-part=pauses] li", has_text="gloss")
    row.get_by_text("Pause…").click()
    row.get_by_label("Why (may be empty)").fill("chamber is full")
    row.get_by_role("button", name="Pause", exact=True).click()
    page.wait_for_selector("[data-part=pauses] li:has-text('chamber is full')")
    assert [one["measurement"] for one in status(own)["paused"]] == ["gloss"]
    row.get_by_role("button", name="Resume").click()
    page.wait_for_selector("[data-part=pauses]:not(:has-text('chamber is full'))")
    assert status(own)["paused"] == []


def test_prices_and_the_budget_are_changed(own, visit):
    page = visit(own.url("spending"))
    page.get_by_text("Change the budget…").click()
    page.get_by_label("Most that may be spent").fill("120")
    page.get_by_role("button", name="Set the budget").click()
    page.wait_for_selector(".large:has-text('of 120')")
    page.get_by_text("Change the price of gloss…").click()
    page.get_by_label("What one evaluation of gloss costs").fill("4.5")
    page.locator("form[data-action=price]", has_text="gloss").get_by_role("button").click()
    page.wait_for_selector("[data-part=measurements] td:has-text('4.5')")
    now = status(own)
    assert (now["budget"], [m["cost"] for m in now["measurements"]]) == (120.0, [1.0, 4.5])
    # The same from the table of what comes next.
    page.goto(own.url("next"))
    computed(page)
    page.locator("tr[data-name=gloss] input.price").fill("3.5")
    page.get_by_role("button", name="Use these prices from now on").click()
    page.wait_for_selector("tr[data-name=gloss][data-cost='3.5']")
    assert [m["cost"] for m in status(own)["measurements"]] == [1.0, 3.5]


def test_entries_survive_a_killed_server_and_are_made_once(own, visit):
    page = visit(own.url("bench"), size=PHONE)
    page.wait_for_selector("#connection.on")
    number = waiting(own)
    own.kill()
    page.wait_for_selector("#connection.off:has-text('connection lost, reconnecting')")
    page.locator(f"#card-{number} input.value").fill("91.5")
    page.locator(f"#card-{number}").get_by_role("button", name="Save").click()
    page.wait_for_selector("#outbox:has-text('1 entry is kept here')")
    assert find(own, number)["status"] == "pending"
    own.start()
    page.locator(f"#card-{number}").wait_for(state="detached", timeout=30_000)
    page.wait_for_selector("#connection.on:has-text('live')")
    page.wait_for_selector("#outbox", state="hidden")
    told = find(own, number)
    assert ([one["value"] for one in told["values"].values()], told["superseded"]) == ([91.5], [])


def test_an_answer_that_is_lost_doubles_nothing(own, visit):
    page = visit(own.url("bench"))
    number, count = waiting(own), len(studies.evaluations(own.folder))
    lost = []

    def lose_the_first_answer(route):
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/api/studies/*/ask", lose_the_first_answer)
    page.get_by_role("button", name="Ask for the next measurement").click()
    page.wait_for_function("() => document.querySelectorAll('article.measure').length === 2")
    page.wait_for_function("() => JSON.parse(localStorage.getItem('unyoke.outbox')).length === 0")
    assert lost == [200]
    assert len(studies.evaluations(own.folder)) == count + 1
    assert find(own, number)["status"] == "pending"


def test_an_entry_of_a_closed_page_is_sent_by_the_next_one(own, visit):
    page = visit(own.url("bench"))
    page.wait_for_selector("#connection.on")
    number = waiting(own)
    own.kill()
    page.locator(f"#card-{number} input.value").fill("90")
    page.locator(f"#card-{number}").get_by_role("button", name="Save").click()
    page.wait_for_selector("#outbox:not([hidden])")
    context = page.context
    page.close()
    own.start()
    page = context.new_page()
    page.goto(own.url("next"))
    page.wait_for_function("() => JSON.parse(localStorage.getItem('unyoke.outbox')).length === 0")
    assert find(own, number)["status"] == "completed"


def test_two_browsers_see_each_others_entries_at_once(own, visit):
    one, other = visit(own.url("bench"), name="Ada"), visit(own.url("designs"), name="Grace")
    other.wait_for_selector("#connection.on")
    number = waiting(own)
    one.locator(f"#card-{number} input.value").fill("93.75")
    one.locator(f"#card-{number}").get_by_role("button", name="Save").click()
    cell = other.wait_for_selector(".attempt.completed:has-text('93.75')")
    assert f"#{number}" in cell.inner_text() and "Ada" in cell.inner_text()


def test_what_somebody_types_stays_when_others_write(own, visit):
    one = visit(own.url("bench"))
    one.wait_for_selector("#connection.on")
    number = waiting(own)
    field = one.locator(f"#card-{number} input.value")
    field.type("12")
    studies.unyoke(own.folder, "ask")
    one.wait_for_function("() => document.querySelectorAll('article.measure').length === 2")
    field.type("3.5")
    assert field.input_value() == "123.5"


def test_a_run_is_watched_and_stopped_while_it_writes_the_study(visit, serve, tmp_path):
    folder = studies.plate(tmp_path / "plate")
    (folder / "wait").touch()
    runner = subprocess.Popen([studies.PROGRAM, "run"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (folder / "study.db").exists():
            assert runner.poll() is None
        server = serve(folder)
        page = visit(server.url("live"))
        run = page.locator("article.run").first
        run.wait_for()
        number = int(run.get_attribute("data-part").split("-")[1])
        run.get_by_text("Log", exact=True).click()
        page.wait_for_selector(f"#log-{number} pre:has-text('measuring')")
        unfold(page, "Stop…", f"[data-part=run-{number}]")
        page.locator(f"[data-part=run-{number}]").get_by_role("button", name="Stop it").click()
        page.locator(f"[data-part=run-{number}]").wait_for(state="detached", timeout=30_000)
        assert find(server, number)["status"] == "withdrawn"
        (folder / "go").touch()
        page.wait_for_selector("[data-part=results] tbody tr:nth-child(4)", timeout=60_000)
    finally:
        (folder / "go").touch()
        runner.terminate()
        runner.wait()
