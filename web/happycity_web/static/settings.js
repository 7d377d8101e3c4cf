// What a person has set, kept in the browser.

export function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Where nothing can be kept, a setting lasts as long as the page.
  }
}

// Returns a field of the page, by its id, that has the value it had last; a checkbox is "on" or "off".
export function setting(id) {
  const input = document.getElementById(id);
  const name = `happycity-${id}`;
  const isBox = input.type === "checkbox";
  const value = kept(name);
  if (value !== null && isBox) input.checked = value === "on";
  if (value !== null && !isBox && [...input.options].some((option) => option.value === value)) input.value = value;
  input.addEventListener("change", () => keep(name, isBox ? (input.checked ? "on" : "off") : input.value));
  return input;
}
