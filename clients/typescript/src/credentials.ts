/** What protects a connection, and what must not travel without it. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { SettingError } from "./errors.js";
import type { CompleteSettings } from "./settings.js";

/** Return whether the connection is by TLS. */
export function isEncrypted({ tls, ca, cert, key }: CompleteSettings): boolean {
  return tls || ca !== "" || cert !== "" || key !== "";
}

/**
 * Read the files of TLS.
 *
 * @throws {@link SettingError} if a file can't be read or is not what it should be, or if the token would be
 * readable on its way.
 */
export function credentialsOf(settings: CompleteSettings): ChannelCredentials {
  if (isEncrypted(settings)) return encryptedCredentials(settings);
  if (settings.token && !settings.insecure && !isLoopback(settings.server)) {
    throw new SettingError(
      "token",
      `it would travel unencrypted to ${settings.server}; use TLS (HAPPYCITY_TLS=1 or HAPPYCITY_CA=FILE), ` +
        "or allow it with HAPPYCITY_INSECURE=1",
    );
  }
  return credentials.createInsecure();
}

/** Return whether an address, as gRPC takes it, stays on this machine. Names are not looked up. */
export function isLoopback(server: string): boolean {
  if (/^unix(-abstract)?:/.test(server)) return true;
  const target = server.replace(/^(dns:(\/\/[^/]*\/)?|ipv[46]:)/, "");
  const bracketed = /^\[([^\]]*)\](:\d+)?$/.exec(target)?.[1];
  const host = bracketed ?? (isIP(target) ? target : target.replace(/:\d+$/, ""));
  if (host === "localhost") return true;
  const version = isIP(host);
  return version !== 0 && LOOPBACK.check(host, version === 4 ? "ipv4" : "ipv6");
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

function encryptedCredentials(settings: CompleteSettings): ChannelCredentials {
  const { cert, key } = settings;
  if (cert && !key) throw new SettingError("key", "it is missing; cert needs it too");
  if (key && !cert) throw new SettingError("cert", "it is missing; key needs it too");
  const pem = { ca: read(settings, "ca"), cert: read(settings, "cert"), key: read(settings, "key") };
  checkPem(settings, pem);
  return credentials.createSsl(pem.ca, pem.key, pem.cert);
}

function read(settings: CompleteSettings, field: "ca" | "cert" | "key"): Buffer | null {
  const file = settings[field];
  if (!file) return null;
  try {
    return readFileSync(file);
  } catch (error) {
    throw new SettingError(field, `it can't be read: ${messageOf(error)}`);
  }
}

/** Refuse what TLS would only answer with a failed handshake. */
function checkPem(
  settings: CompleteSettings,
  { ca, cert, key }: { ca: Buffer | null; cert: Buffer | null; key: Buffer | null },
): void {
  try {
    if (ca) new X509Certificate(ca);
  } catch {
    throw new SettingError("ca", `${JSON.stringify(settings.ca)} holds no certificates in PEM`);
  }
  try {
    if (cert && key) createSecureContext({ cert, key });
  } catch (error) {
    const files = `${JSON.stringify(settings.cert)} and ${JSON.stringify(settings.key)}`;
    throw new SettingError("cert", `${files} are no certificate and its key in PEM: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
