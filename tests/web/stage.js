// What has moved since the first step, is outside of the window, covered or cut, for people to read.
(messages) => {
  const places = {};
  const faults = [];
  const parts = ".top, #seat, .seat-bar, .market, .zone, .decks, .deck, .seat, .seat:first-child .city, .moves-side, .news-box";
  const note = (key, box, step) => {
    const now = [box.left, box.top, box.width, box.height].map(Math.round).join(" ");
    if ((places[key] ??= now) !== now) faults.push(`step ${step}: ${key} moved from ${places[key]} to ${now}`);
  };
  const inner = (one) => { const box = one.getBoundingClientRect(); return box.width > 2 && box.height > 2 ? box : null; };
  messages.forEach((message, step) => {
    window.tell(message);
    const isDeciding = JSON.parse(message).decision !== null;
    document.querySelectorAll(parts).forEach((one, index) => {
      // Below the stage, or hidden while something is asked, they may grow.
      if (!one.matches(".news-box, .moves-side") || innerWidth > 1120) note(`${one.className || one.id} ${index}`, one.getBoundingClientRect(), step);
    });
    for (const name of ["centre", "specials"]) {
      document.querySelectorAll(`[data-list="${name}"] > .slot`).forEach((one, index) => note(`${name} ${index}`, one.getBoundingClientRect(), step));
    }
    document.querySelectorAll(".stacks .slot").forEach((one, index) => note(`dwelling ${index}`, one.getBoundingClientRect(), step));
    const end = Math.max(innerHeight, document.querySelector(".board").getBoundingClientRect().bottom);
    for (const button of document.querySelectorAll("[data-move]")) {
      const control = button.closest(".can") ?? button;
      const box = control.getBoundingClientRect();
      const what = `step ${step}: ${button.querySelector(".choice-name").textContent}`;
      if (box.left < 0 || box.right > innerWidth + 1 || box.bottom > end + 1) faults.push(`${what} is outside of the window`);
      const card = control.querySelector(".card") ?? control;
      const target = card.getBoundingClientRect();
      if (target.width < 24 || target.height < 24) faults.push(`${what} is ${target.width} by ${target.height}`);
      const hit = document.elementFromPoint(target.left + target.width / 2, target.top + target.height / 2);
      if (target.bottom <= innerHeight && !control.contains(hit)) faults.push(`${what} is covered by ${hit?.outerHTML.slice(0, 80)}`);
    }
    for (const [outer, inside] of [["#seat", "#panel > :is(h2, .guide), #panel .choice:not(.can .choice)"], [".card", ".choice .name"], [".deck", ".deck :is(.number-key, .choice-effects, .deck-back)"], [".can", ".slot.can .effect:not(.text)"]]) {
      for (const one of document.querySelectorAll(inside)) {
        const box = inner(one);
        const around = one.closest(outer)?.getBoundingClientRect();
        if (!box || !around || one.closest("[data-asks=market], [data-asks=sphinx]") || !one.checkVisibility({ opacityProperty: true })) continue;
        if (box.bottom > around.bottom + 1.5 || box.right > around.right + 1.5) faults.push(`step ${step}: ${one.className || one.tagName} is cut: ${one.textContent.trim().slice(0, 40)}`);
      }
    }
    const news = document.querySelector("#news");
    const line = parseFloat(getComputedStyle(news).lineHeight);
    if (inner(news) && news.clientHeight < Math.min(news.scrollHeight, line)) faults.push(`step ${step}: news are cut`);
  });
  return faults;
}
