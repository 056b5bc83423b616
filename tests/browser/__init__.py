"""Tests of the app as its users see it: real server, real Chromium."""
