"""Tests that runs were kept as: the form that keeps one, their list, and the difference of one."""
