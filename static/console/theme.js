// Runs before the first paint, so that a dark page never flashes white. The admin keeps its choice under the same key.
"use strict";
(function () {
  const KEY = "_x_adminTheme";
  function chosen() {
    try {
      const value = JSON.parse(localStorage.getItem(KEY));
      return value === "dark" || value === "light" ? value : "auto";
    } catch { return "auto"; }
  }
  function apply() {
    const root = document.documentElement, theme = chosen();
    root.classList.toggle("dark", theme === "dark");
    root.classList.toggle("light", theme === "light");
  }
  apply();
  window.addEventListener("storage", apply);
  document.addEventListener("DOMContentLoaded", function () {
    const button = document.getElementById("theme");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", function () {
      const now = chosen() === "auto" ? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light") : chosen();
      try { localStorage.setItem(KEY, JSON.stringify(now === "dark" ? "light" : "dark")); } catch { /* no storage: the choice lasts for this page */ }
      const root = document.documentElement;
      root.classList.toggle("dark", now !== "dark");
      root.classList.toggle("light", now === "dark");
    });
  });
})();
