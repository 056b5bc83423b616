"""Requests from outside: host checks, logins, and rows that programs post."""
