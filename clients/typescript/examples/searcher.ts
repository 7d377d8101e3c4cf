/** Searches with the native engine; searcher-rule.ts is how. */

import { run } from "happycity";
import { searcher } from "./searcher-rule.js";

await run(searcher, { games: 0 });
