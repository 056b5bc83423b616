"""The terms of the field as the studio uses them: told here and nowhere else.

A term is shown where its word stands as a label, and listed in the glossary of the top bar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ui.components.glossary.pictures import LATE, RETRACTION, UPSERT, WATERMARK


@dataclass(frozen=True)
class Term:
    """A term: its name, what it means, the words besides its name that stand for it in labels, a picture as SVG."""

    name: str
    meaning: str
    words: tuple[str, ...] = ()
    picture: str = ""


GLOSSARY: Final[dict[str, tuple[Term, ...]]] = {
    "Changelogs": (
        Term(
            "Event",
            "What arrives: a record of a source, or the end of a source. The events of all sources are numbered from 1 "
            "in the order of their arrival, and this number is the clock of a run.",
            ("events",),
        ),
        Term(
            "Record",
            "A row with its kind on an edge. One event can cause no record, one, or many.",
            ("records",),
        ),
        Term(
            "Changelog",
            "The records of an edge in their order. Applied one after another they give the table that the edge "
            "stands for.",
            ("changelogs",),
        ),
        Term(
            "Kind",
            "What a record does to the table: +I inserts a row, -U takes back a row that changes, +U brings its new "
            "version, -D deletes a row.",
            ("kinds", "row kind", "row kinds"),
        ),
        Term("+I", "Insert: a row that was not there before."),
        Term("-U", "Update before: takes back the previous version of a row. The +U with the new one follows."),
        Term("+U", "Update after: the new version of a row. Without a -U it replaces the row with its upsert key."),
        Term("-D", "Delete: the row is gone."),
        Term(
            "Changelog mode",
            "The kinds that an edge can carry. With +I alone it is append-only, and nothing is ever taken back. -U is "
            "sent only where a consumer needs it.",
            ("changelog modes", "emits", "append-only"),
        ),
        Term(
            "Retraction",
            "A -U or a -D: it takes back a record that was sent before, so that what was computed from it can be "
            "corrected.",
            ("retractions", "retracted", "retracts", "NeedRetract"),
            RETRACTION,
        ),
        Term(
            "Step",
            "The place of a record among those that one event caused: 1.2 is the second record that came of the first. "
            "Ordered by event and step, records are in the order in which one engine would have sent them.",
            ("steps",),
        ),
        Term(
            "Cascade",
            "All records that one event caused, from its source down to the sinks.",
            ("cascades",),
        ),
        Term(
            "Amplification",
            "Records that came out per record that went in.",
        ),
        Term(
            "Upsert key",
            "The columns by which a +U or a -D finds the row that it replaces or deletes. Then no -U is needed.",
            ("upsert keys", "identified by", "unique key", "primary key"),
            UPSERT,
        ),
        Term(
            "Table type",
            "Append: rows are only added. Replace: rows change, by key. Acc: the operator only adds rows to what it "
            "has computed. AccRetract: it also takes rows back out.",
            ("accumulate mode",),
        ),
        Term(
            "Materialized",
            "A sink that receives changes of one key in any order keeps all rows of the key, so that the right one "
            "is left at the end.",
            ("materialize", "materialization", "writes out of order"),
        ),
        Term(
            "Mini-batch",
            "Records are collected and processed together: a key that changes many times in between sends one change.",
            ("mini-batches",),
        ),
    ),
    "Time": (
        Term(
            "Event time",
            "When something happened, as its record says; not when it arrived.",
            ("event times", "event-time"),
        ),
        Term(
            "Watermark",
            "How far event time has come. That of a source is its largest event time so far minus the delay; an "
            "operator sees the lowest of the sources above it. A window gives its result when the watermark reaches "
            "its end.",
            ("watermarks", "as seen by"),
            WATERMARK,
        ),
        Term(
            "Delay",
            "How far out of order the records of a source may arrive. A longer delay drops fewer records, but windows "
            "give their results later.",
            ("watermark delay", "delays"),
        ),
        Term(
            "Out of order",
            "A record with an earlier event time than one that arrived before it. It is in time as long as its window "
            "is open.",
            ("disorder",),
        ),
        Term(
            "Late",
            "A record that arrives when the watermark has passed the end of its window, or its own event time where "
            "there is no window. It is either dropped, or used within the allowed lateness.",
            ("late records", "lateness"),
            LATE,
        ),
        Term(
            "Dropped",
            "A late record that counts in no result. It is kept with the reason, the window that it missed and the "
            "event that pushed the watermark past it.",
            ("dropped records",),
        ),
        Term(
            "Late but used",
            "A late record within the allowed lateness: the window's result is corrected.",
            ("late used",),
        ),
        Term(
            "Allowed lateness",
            "How long a window still takes records after it has given its result. Results do not come later, but are "
            "corrected with -U and +U.",
        ),
        Term(
            "Lead",
            "How far a record's event time is ahead of the watermark. Behind it, the record may be late.",
        ),
        Term(
            "Rejected",
            "A row of a source that cannot be read as its columns say. It is kept with the reason, and is no event.",
            ("rejected rows",),
        ),
        Term(
            "Window",
            "A span of event time from its start up to, but without, its end: [start, end).",
            ("windows",),
        ),
        Term(
            "Session gap",
            "The quiet time that ends a session window.",
            ("gap", "session"),
        ),
    ),
    "State and runs": (
        Term(
            "State",
            "What an operator remembers between events: rows, counts, open windows.",
            ("held state", "entries", "entries of state"),
        ),
        Term(
            "TTL",
            "Time to live: state that was not touched for this long expires. Later records of its key meet an empty "
            "state, and results can differ.",
            ("state TTL", "TTLs", "time to live"),
        ),
        Term("Expired", "State that its TTL removed.", ("expiry", "expires")),
        Term(
            "Strategy",
            "How an operator does its work on the input that it has, which decides what it keeps as state.",
        ),
        Term("Kernel", "The code that computes an operator: interpreted record by record, or compiled.", ("kernels",)),
        Term(
            "Epoch",
            "A part of the input that is processed and committed as one: what was not committed never happened.",
            ("epochs",),
        ),
        Term(
            "Live run",
            "A run that reads records as they arrive, until you stop it. Other runs end with their sources.",
            ("live runs", "live"),
        ),
        Term(
            "Recorded clock",
            "The time of processing that the run noted. Whatever depends on it, such as a TTL, gives the same again.",
            ("processing time",),
        ),
    ),
}
"""The terms by subject, in the order in which one needs them."""
