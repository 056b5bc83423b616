"""Which terms of the glossary stand on a page without being told there.

A term has to be told, on hover and on focus, at one place of a page at least. Left out are names and data: that of the
product, the bars with the names of the pages, cells of tables, code, pictures, nodes of a canvas and its palette, and
stories, which have steps.
"""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Page, TimeoutError

from ui.components.glossary.terms import GLOSSARY

_MEANINGS: Final = {
    word.lower(): term.meaning for terms in GLOSSARY.values() for term in terms for word in (term.name, *term.words)
}
_UNTOLD: Final = r"""meanings => {
    const without = 'script, style, template, code, kbd, pre, td, input, textarea, option, svg, dialog, [role=tooltip],'
        + '[aria-hidden=true], .react-flow__node, .palette, .st-key-top-bar, .st-key-inspect-pages,'
        + '[class*="st-key-story"]'
    const signs = /[+\-.*?^$()[\]{}|\\]/g
    const words = [...Object.keys(meanings), 'Changelog Studio'].sort((one, other) => other.length - one.length)
    const any = new RegExp(`(?<![\\w+-])(?:${words.map(each => each.replace(signs, '\\$&')).join('|')})(?!\\w)`, 'gi')
    const pressed = 'a, button, summary, [role=tab], [role=radio]'
    const meaningsAt = label => {
        const taker = label.querySelector('button') ?? label.closest(pressed) ?? label
        const takesFocus = taker.checkVisibility() && (taker.tabIndex >= 0 || taker.matches('[role=tab], [role=radio]'))
        return takesFocus ? taker.getAttribute('aria-description') ?? '' : ''
    }
    const told = [], found = new Map()
    const look = root => {
        told.push(...[...root.querySelectorAll('[data-term]')].map(meaningsAt))
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
        for (let node = walker.currentNode; node; node = walker.nextNode()) {
            if (node.shadowRoot) look(node.shadowRoot)
            const place = node.parentElement
            if (node.nodeType !== Node.TEXT_NODE || !node.data.trim() || !place) continue
            if (place.closest(without) || !place.checkVisibility({ visibilityProperty: true })) continue
            const { width, height } = place.getBoundingClientRect()
            if (width < 2 || height < 2) continue
            for (const [word] of node.data.matchAll(any)) {
                const meaning = meanings[word.toLowerCase()]
                if (meaning && !found.has(meaning)) found.set(meaning, `${word}: ${node.data.trim().slice(0, 100)}`)
            }
        }
    }
    look(document.querySelector('[data-testid=stApp]'))
    return [...found].filter(([meaning]) => !told.some(each => each.includes(meaning))).map(([, text]) => text)
}"""


def untold(page: Page) -> list[str]:
    """Each such word with the text that it stands in, if it stays untold: the glossary needs a moment to find it.

    What is drawn between two looks is new again, so that all being told once is the answer.
    """
    try:
        page.wait_for_function(f"words => !({_UNTOLD})(words).length", arg=_MEANINGS, timeout=20_000, polling=100)
    except TimeoutError:
        found: list[str] = page.evaluate(_UNTOLD, _MEANINGS)
        return found
    return []


_OTHER_SPELLINGS: Final = r"""() => {
    const texts = []
    const look = root => {
        for (const each of root.querySelectorAll('*')) if (each.shadowRoot) look(each.shadowRoot)
        texts.push((root.body ?? root).textContent)
    }
    look(document)
    const other = /\[I(?:,(?:UB|UA|D))*\]|\b(?:timestamp_ntz|UPDATE_BEFORE|UPDATE_AFTER)\b/gi
    return texts.flatMap(text => [...text.matchAll(other)].map(each => text.slice(each.index - 40, each.index + 60)))
}"""


def other_spellings(page: Page) -> list[str]:
    """Where the page writes a changelog mode, a kind or a type as its code does."""
    found: list[str] = page.evaluate(_OTHER_SPELLINGS)
    return found
