// What the admin's theme says in its attributes, for Alpine's CSP build: that one knows no globals and no statements.
// The theme's own functions stay the theme's; here they are only made known by name.
"use strict";
(function () {
  const OPEN = "sidebarDesktopOpen";
  function kept(name) { try { return localStorage.getItem(name); } catch { return null; } }
  function keep(name, value) { try { localStorage.setItem(name, value); } catch { /* no storage: it lasts for this page */ } }

  document.addEventListener("alpine:init", function () {
    const Alpine = window.Alpine;
    for (const name of ["theme", "searchForm", "searchDropdown", "searchCommand"]) Alpine.data(name, window[name]);

    // The body: which tab is shown, whether the sidebar is.
    Alpine.data("unfoldPage", function (tab) {
      return {
        activeTab: tab,
        sidebarMobileOpen: false,
        sidebarDesktopOpen: kept(OPEN) === null || kept(OPEN) === "1",
        // Change forms name `window.location` to come back to the same tab. No more of it is given.
        window: { location: { get pathname() { return location.pathname; }, get search() { return location.search; } } },
        init() {
          if (tab) this.activeTab = window.getCurrentTab() || tab;
          this.$watch(OPEN, (open) => keep(OPEN, open ? "1" : "0"));
        },
      };
    });
  });

  // The palette's Enter is a statement in the theme: answered here, before Alpine sees it.
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Enter" || event.metaKey || event.ctrlKey || event.target.id !== "search-input-command") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const palette = window.Alpine.$data(event.target);
    if (palette.currentIndex > 0) palette.selectItem(false, false);
  }, true);
})();
