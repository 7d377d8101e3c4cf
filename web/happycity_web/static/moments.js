// Shows the moments of a page that changes no more in the reader's own time zone.

import { localise } from "./words.js";

localise(document);
