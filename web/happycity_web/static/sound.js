// Short tones, unless a person has switched them off; browsers allow none before the first click or key.

import { setting } from "./settings.js";

const LOUDNESS = 0.08; // of 1
const TONES = {
  // [frequency in Hz, start and length in seconds]
  card: [[330, 0, 0.06]],
  built: [[196, 0, 0.1], [294, 0.07, 0.12]],
  turn: [[523, 0, 0.1], [659, 0.1, 0.15]],
  end: [[523, 0, 0.15], [659, 0.15, 0.15], [784, 0.3, 0.35]],
};

const isOn = setting("sound");
let context = null;

export function sound(name) {
  if (!isOn.checked || !navigator.userActivation?.hasBeenActive) return;
  context ??= new AudioContext();
  for (const [frequency, start, length] of TONES[name]) {
    const begin = context.currentTime + start;
    const tone = new OscillatorNode(context, { frequency, type: "triangle" });
    const volume = new GainNode(context, { gain: LOUDNESS });
    volume.gain.setTargetAtTime(0, begin, length / 3);
    tone.connect(volume).connect(context.destination);
    tone.start(begin);
    tone.stop(begin + 2 * length);
  }
}

isOn.addEventListener("change", () => sound("turn"));
