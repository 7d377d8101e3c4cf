/** Calls to the server beside the bot's own stream. */

import {
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  InterceptingCall,
  type Interceptor,
  type ServiceError,
} from "@grpc/grpc-js";
import { credentialsOf, isLoopback } from "./credentials.js";
import { partingOf, pauseMs } from "./parting.js";
import { gatherSettings, type Settings } from "./settings.js";

/** Makes clients of one service, such as `SimulationServiceClient` of `happycity/v1`. */
export type ClientClass<T extends Client> = new (
  address: string,
  credentials: ChannelCredentials,
  options?: Partial<ClientOptions>,
) => T;

/**
 * Prepare calls to another service of the bot's server, such as its simulations: to the same address, with the
 * same token and TLS. Nothing is sent before the first call, so a server that isn't there is no error yet.
 *
 * @throws {@link SettingError} if the settings make no sense.
 */
export function dial<T extends Client>(Service: ClientClass<T>, settings: Settings = {}): T {
  const whole = gatherSettings(settings);
  return new Service(whole.server, credentialsOf(whole), {
    ...commonOptions(whole.server),
    interceptors: whole.token ? [bearer(whole.token)] : [],
  });
}

/**
 * Return the milliseconds that a server wants to be left alone that refused a call as one too many; undefined if
 * it refused for anything else.
 */
export function retryAfterMs(error: unknown): number | undefined {
  if (!isServiceError(error)) return undefined;
  const parting = partingOf(error);
  return parting.reason === "RATE_LIMITED" ? pauseMs(parting) : undefined;
}

/** Return what all connections to a server have in common. */
export function commonOptions(server: string): ClientOptions {
  return {
    // As much as the server may send: any number of games can be in one batch.
    "grpc.max_receive_message_length": 64 * 1024 * 1024,
    ...(isLoopback(server) && { "grpc.enable_http_proxy": 0 }),
  };
}

/** Show a token with each call. */
function bearer(token: string): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        metadata.set("authorization", `Bearer ${token}`);
        next(metadata, listener);
      },
    });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "details" in error && "metadata" in error;
}
