"""Stories: those of the examples match the app, one's own is kept with its pipeline, and what is gone is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.errors import PipelineError
from engine.examples import examples
from engine.model.pipeline import Pipeline
from engine.model.story import MOST_STEPS, Step, Story
from storage import Store
from storage.model import EventRange
from tests.ui import seeded_store
from ui.builder.editing import rename_node, unplaced
from ui.builder.history import History
from ui.builder.merging import is_same, merged
from ui.export.markdown import as_html
from ui.replay.page import replay_as_html
from ui.shell.navigation import VIEWS
from ui.shell.state import SHOWN
from ui.stories.step_words import as_markdown
from ui.stories.telling import missing, run_told, story_of_run, told_pipeline
from ui.stories.writing import added, moved, removed, replaced

TRACES = Path(__file__).resolve().parents[1] / "golden" / "traces"
TOLD = {name: example.story for name, example in examples().items() if example.story is not None}
ONE, TWO, THREE = (Step(page="changelog", text=text) for text in ("one", "two", "three"))
STORY = Story(title="Mine", steps=(ONE, TWO, THREE), run=1)
WORDS = examples()["01-word-frequency"]
OWN = WORDS.model_copy(update={"name": "words", "story": STORY})


def test_examples_have_stories() -> None:
    assert {"01-word-frequency", "02-window-late-record", "05-window-join", "07-deduplication", "08-top-3"} <= set(TOLD)


@pytest.mark.parametrize("name", sorted(TOLD))
def test_every_step_opens_what_is_there(name: str) -> None:
    trace = (TRACES / f"{name}.txt").read_text(encoding="utf-8")
    edges = set(re.findall(r"^== ([^:]+):", trace, re.MULTILINE))
    last = max(int(found) for found in re.findall(r"^(\d+) ", trace, re.MULTILINE))
    for step in TOLD[name].steps:
        assert step.page in {view.file for view in VIEWS}
        assert step.edge is None or step.edge in edges
        assert step.event is None or 0 < step.event <= last + 1
        assert (step.edge is not None) == (step.page in ("changelog", "retractions", "time_travel"))
        assert set(step.shown) <= set(SHOWN)


@pytest.mark.parametrize("name", sorted(TOLD))
def test_a_story_has_five_or_six_steps_of_a_few_sentences(name: str) -> None:
    steps = TOLD[name].steps
    assert 5 <= len(steps) <= 6
    assert all(20 < len(step.text) < 400 for step in steps)


def test_a_story_is_told_beside_a_run_of_its_example_that_cannot_be_read(store: Store) -> None:
    # As an older studio has kept it: without the story.
    known = store.runs.create(WORDS.name, WORDS.model_copy(update={"story": None}).to_json())
    newer = store.runs.create(WORDS.name, '{"version": 99}')
    for run in (known, newer):
        store.runs.finish(run.run_id)
    found = run_told(store, "01-word-frequency", WORDS)
    assert found is not None
    assert found.run_id == known.run_id
    assert story_of_run(store, store.runs.get(known.run_id)) == WORDS.story


@pytest.mark.parametrize(
    ("title", "document", "field"),
    [
        ("no page", {"steps": [{"text": "see"}]}, "story.steps.0.page"),
        ("a page of another type", {"steps": [{"page": 3}]}, "story.steps.0.page"),
        ("an event before all", {"steps": [{"page": "sql", "event": -1}]}, "story.steps.0.event"),
        ("an unknown field", {"steps": [], "speaker": "me"}, "story.speaker"),
        ("too long", {"steps": [{"page": "sql", "text": "x" * 2001}]}, "story.steps.0.text"),
        ("too many steps", {"steps": [{"page": "sql"}] * (MOST_STEPS + 1)}, "story.steps"),
    ],
)
def test_a_wrong_story_is_a_sentence(title: str, document: object, field: str) -> None:
    with pytest.raises(PipelineError) as refused:
        Pipeline.from_dict({"story": document})
    assert field in str(refused.value), title


def test_a_story_is_kept_with_its_pipeline() -> None:
    assert Pipeline.from_json(OWN.to_json()).story == STORY
    assert unplaced(OWN).story == STORY
    assert is_same(OWN, WORDS.model_copy(update={"name": "words"}))
    # A document of before there were stories.
    assert Pipeline.from_json('{"version": 1, "name": "old"}').story is None
    assert "story" not in Pipeline(name="old").to_json()


def test_an_edit_of_a_story_is_undone_and_merged_like_another() -> None:
    history = History(OWN)
    other = OWN.model_copy(update={"story": removed(STORY, 0)})
    history.change(other)
    assert History.from_json(history.to_json()).now.story == removed(STORY, 0)
    history.undo()
    assert history.now.story == STORY
    theirs = OWN.model_copy(update={"description": "theirs"})
    both = merged(OWN, other, theirs).pipeline
    assert (both.story, both.description) == (removed(STORY, 0), "theirs")


def test_a_story_follows_a_node_to_its_new_name() -> None:
    step = Step(page="time_travel", edge="count_words", shown={"node": "count_words", "contains": "count_words"})
    other = Step(page="changelog", edge="count_words.late")
    renamed = rename_node(WORDS.model_copy(update={"story": Story(steps=(step, other))}), "count_words", "sums").story
    assert renamed is not None
    assert [each.edge for each in renamed.steps] == ["sums", "sums.late"]
    assert renamed.steps[0].shown == {"node": "sums", "contains": "count_words"}


def test_steps_are_ordered_by_hand() -> None:
    def texts(story: Story) -> list[str]:
        return [step.text for step in story.steps]

    new = Step(page="sql", text="new")
    assert texts(added(STORY, new, 0)) == ["one", "new", "two", "three"]
    assert texts(added(Story(), new, -1)) == ["new"]
    assert texts(moved(STORY, 2, 0)) == ["three", "one", "two"]
    assert texts(moved(STORY, 0, 1)) == ["two", "one", "three"]
    assert moved(STORY, 2, 3) == moved(STORY, 0, -1) == STORY
    assert texts(removed(STORY, 1)) == ["one", "three"]
    assert texts(replaced(STORY, 1, new)) == ["one", "new", "three"]
    with pytest.raises(PipelineError, match="at most 200 steps"):
        added(Story(steps=(new,) * MOST_STEPS), new, 0)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("**bold** *it* `a_b <i>`", "<p><strong>bold</strong> <em>it</em> <code>a_b &lt;i&gt;</code></p>"),
        ("<b>no</b> &amp; <script>", "<p>&lt;b&gt;no&lt;/b&gt; &amp;amp; &lt;script&gt;</p>"),
        ("[it](x) ![](y)", "<p>[it](x) ![](y)</p>"),
        ("$5 and $6, 2 * 3 * 4", "<p>$5 and $6, 2 * 3 * 4</p>"),
        ("# one\n- two\n* three", "<p># one<br />\n- two<br />\n* three</p>"),
        ("one\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("an `open one", "<p>an `open one</p>"),
        ("", ""),
    ],
)
def test_words_are_text_with_three_marks(typed: str, shown: str) -> None:
    assert as_html(as_markdown(typed)).strip() == shown


def test_what_of_a_step_is_gone_is_said_and_the_rest_is_told(store: Store, tmp_path: Path) -> None:
    run = store.runs.get(seeded_store.word_count(store, tmp_path))
    here = Step(page="time_travel", edge="inner", event=2, text="here")
    no_edge = Step(page="changelog", edge="totals", event=1, text="edge")
    no_event = Step(page="changelog", edge="inner", event=9, text="event")
    no_page = Step(page="dashboard", text="page")
    story = Story(title="Mine", steps=(here, no_edge, no_event, no_page), run=run.run_id)
    said = [missing(store, story, step, run) for step in story.steps]
    assert said == [
        (),
        ("Run 1 has no edge `totals`.",),
        ("Run 1 has no event 9: it has those to 3.",),
        ("There is no page `dashboard`.",),
    ]
    gone = story.model_copy(update={"run": 77})
    assert missing(store, gone, here, run) == ("Run 77, which the story is about, is gone. This is run 1.",)
    assert missing(store, story, here, None) == ("There is no run of this pipeline: run it to see this step.",)
    page = replay_as_html(store, run, EventRange(1, 2), story)
    steps = re.findall(r'<div class="told" hidden>(.*?)</div>', page, re.DOTALL)
    assert [each.split("\n")[0] for each in steps] == ["<p>here</p>", "<p>edge</p>", "<p>event</p>", "<p>page</p>"]
    assert ["no edge" in each or "no event" in each or "no page" in each for each in steps] == [False, True, True, True]


def test_a_story_is_told_on_its_run_else_on_the_newest_of_its_pipeline(store: Store) -> None:
    def run(name: str, identity: str) -> int:
        made = store.runs.create(name, OWN.to_json(), identity=identity)
        store.runs.finish(made.run_id)
        return made.run_id

    first, second, anothers = run("words", "mine"), run("words", "mine"), run("others", "theirs")
    store.drafts.save("d", History(OWN).to_json(), pipeline_id=None, version=None, identity="mine")
    assert told_pipeline(store, "mine") == OWN
    assert told_pipeline(store, "nobody's") is None

    def told_on(number: int) -> int:
        found = run_told(store, "mine", OWN.model_copy(update={"story": STORY.model_copy(update={"run": number})}))
        assert found is not None
        return found.run_id

    assert told_on(first) == first
    assert told_on(99) == second
    assert told_on(anothers) == second
    assert story_of_run(store, store.runs.get(second)) == STORY
    # A run that belongs to no pipeline, as one of an example: the story that was written about it.
    told = OWN.model_copy(update={"story": STORY.model_copy(update={"run": run("words", "")})})
    store.drafts.save("e", History(told).to_json(), pipeline_id=None, version=None, identity="e")
    assert story_of_run(store, store.runs.get(4)) == told.story
