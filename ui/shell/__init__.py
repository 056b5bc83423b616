"""The app itself: pages and URL, state of a session, engine, uploads, theme, words, and the guard around a page."""
