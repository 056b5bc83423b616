// Copies the address of the page, and says what it has. Where the browser does not give its clipboard, the address is shown.
export default ({ data, parentElement }) => {
  const button = parentElement.querySelector("button");
  const told = parentElement.querySelector("p");
  button.onclick = async () => {
    const address = location.href;
    try {
      await navigator.clipboard.writeText(address);
      told.textContent = `Copied: ${data.has}.`;
    } catch {
      const shown = document.createElement("code");
      shown.textContent = address;
      told.replaceChildren("Copy it from here: ", shown);
      getSelection().selectAllChildren(shown);
    }
  };
};
