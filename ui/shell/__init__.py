"""The app itself: pages and URL, state of a session, pending input, engine, uploads, theme, words, guard of a page."""
