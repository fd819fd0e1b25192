"""The list of items and decisions by keyboard in Chromium, in a project of 4,000 items.

    python -m perf.studio_review_list                 40 repetitions, 100 items by keyboard

Times are measured in the page: from the key or click until the browser has painted the answer. Half of the items have a
proposal of the same change, so that decisions on identical proposals can be repeated. The studio and the browser run on
the same machine.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from perf.reviewed_project import make_project
from perf.studio_review import KilledStudio
from tests.reports.chromium import chromium
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.project import open_project

QUERY = "project=project"
WORDS = ("cook", "number17", "nurse", "era", "hoy number3")

# Clicks or types in the page; resolves with the milliseconds until the new content of `target` is painted.
MEASURE = """([target, action]) => new Promise((resolve) => {
  const began = performance.now();
  const done = (event) => {
    if (event.target.id !== target) return;
    document.removeEventListener("htmx:afterSettle", done);
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began), 0));
  };
  document.addEventListener("htmx:afterSettle", done);
  action.click ? document.querySelector(action.click).click() : (() => {
    const field = document.querySelector(action.field);
    field.value = action.value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  })();
})"""


def summarise(times: list[float]) -> dict[str, float]:
    times = sorted(times)
    return {
        "n": len(times),
        "median_ms": round(times[len(times) // 2]),
        "p95_ms": round(times[min(len(times) - 1, int(0.95 * len(times)))]),
        "longest_ms": round(times[-1]),
    }


def add_proposals(folder: Path) -> None:
    """Add the same change as a proposal to every second item."""
    with open_project(folder) as project, project.store.begin_transaction():
        for entry in project.store.list_items()[::2]:
            text = project.store.list_texts("text", entry.id)[entry.id]["context"]
            change = (text.replace(" era ", " fue "),)
            finding = RepairFinding(entry.id, "context", "verb", "proposed", "Another verb?", "", change)
            project.store.add_finding(finding, "repair")


def measure(page: Any, address: str, repetitions: int) -> dict[str, Any]:
    """Return the times of the list, its filters, and decisions on identical proposals."""
    found: dict[str, list[float]] = {"list": [], "filter": [], "search": [], "preview": [], "bulk": []}
    page.goto(f"{address}/review/items?{QUERY}")  # the first request builds the index
    for number in range(repetitions):
        page.goto(f"{address}/review/items?{QUERY}")
        timing = "performance.getEntriesByType('navigation')[0]"
        page.wait_for_function(f"{timing}.loadEventEnd > 0")
        found["list"].append(page.evaluate(f"{timing}.loadEventEnd"))
        choice = {"field": "select[name=reason]", "value": ("verb", "blank-restored", "")[number % 3]}
        found["filter"].append(page.evaluate(MEASURE, ["rows", choice]))
        typed = {"field": "input[name=search]", "value": WORDS[number % len(WORDS)]}
        found["search"].append(page.evaluate(MEASURE, ["rows", typed]))
    page.goto(f"{address}/review/groups?{QUERY}")
    for _ in range(min(repetitions, 30)):
        if not page.locator("a[data-row]").count():
            break
        found["preview"].append(page.evaluate(MEASURE, ["desk", {"click": "a[data-row]"}]))
        # Each item has a second problem, so that no item is selected at first.
        page.evaluate("for (const box of document.querySelectorAll('input[data-row]')) box.checked = true")
        found["bulk"].append(page.evaluate(MEASURE, ["desk", {"click": "[data-submit]"}]))
    return {name: summarise(times) for name, times in found.items() if times}


def review_by_keyboard(page: Any, address: str, items: int) -> None:
    """Decide on items with keys only: keep most of them, drop some, and comment on some."""
    page.goto(f"{address}/review/item?{QUERY}")
    page.locator("form#item h2:focus").wait_for()
    for number in range(items):
        before = page.locator("form#item input[name=item]").input_value()
        if number % 10 == 3:
            page.keyboard.press("c")
            page.keyboard.type("as spoken")
            page.keyboard.press("Escape")
        page.keyboard.press("d" if number % 10 == 7 else "Enter")
        page.wait_for_function(
            "(item) => document.querySelector('form#item input[name=item]')?.value !== item", arg=before
        )
        page.locator("form#item h2:focus").wait_for()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--reviewed", type=int, default=100)
    options = parser.parse_args()
    os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        make_project(folder, options.items, ["Ana", "Eva"], agreeing=2, per_item=2)
        add_proposals(folder / "project")
        studio = KilledStudio(folder)
        studio.start()
        try:
            address = f"http://127.0.0.1:{studio.port}"
            context = browser.new_context(bypass_csp=True)
            page = context.new_page()
            page.set_default_timeout(20_000)
            page.goto(f"{address}/start?token={studio.token}")
            page.goto(f"{address}/review/project?{QUERY}")
            page.get_by_role("radio", name="Ana").check()
            page.get_by_role("button", name="Use this name").click()
            page.get_by_role("heading", name="Your tasks").wait_for()
            found = measure(page, address, options.repetitions)
            review_by_keyboard(page, address, options.reviewed)
            page.goto(f"{address}/review/agreement?{QUERY}")
            found["agreement page"] = [
                row.inner_text().replace("\t", " ") for row in page.locator("tr", has_text="Ana").all()
            ]
            context.close()
        finally:
            studio.kill()
        with open_project(folder / "project") as project:
            decisions, seconds = project.store.sum_decision_times()["Ana"]
            stored = sum(1 for one in project.store.list_decisions() if one.reviewer == "Ana")
        found["times"] = {"decisions stored": stored, "with a time": decisions, "seconds": round(seconds, 1)}
        found["load average"] = os.getloadavg()[0]
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
