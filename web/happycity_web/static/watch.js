// Keeps the viewer of a game that is being played current.

import { follow } from "./socket.js";
import { extend, isOver, known, takeResult } from "./viewer.js";

function receive(text) {
  const news = JSON.parse(text);
  extend(news);
  if (news.end?.results) takeResult();
}

if (!isOver()) follow(() => `${location.pathname}?from=${known()}`, receive);
