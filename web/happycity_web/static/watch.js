// Keeps the viewer of a game that is being played current.

import { follow } from "./socket.js";
import { extend, isOver, known } from "./viewer.js";

if (!isOver()) follow(() => `${location.pathname}?from=${known()}`, (text) => extend(JSON.parse(text)));
