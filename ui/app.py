"""The app's entry: `streamlit run ui/app.py`."""

import streamlit as st

st.set_page_config(page_title="Changelog Studio", layout="wide")
st.title("Changelog Studio")
