"""The first page: examples, your own files, saved pipelines and recent runs."""

import streamlit as st

st.title("Pipelines")
