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
import { completeSettings, type Settings } from "./settings.js";
import { statusOf } from "./stream-status.js";

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
 * @throws {@link SettingError} if a setting can't be used.
 */
export function dial<T extends Client>(Service: ClientClass<T>, settings: Settings = {}): T {
  const complete = completeSettings(settings);
  return new Service(complete.server, credentialsOf(complete), {
    ...commonOptions(complete.server),
    interceptors: complete.token ? [bearer(complete.token)] : [],
  });
}

/** Return the milliseconds to wait before the same call may succeed; undefined if the server didn't say. */
export function retryAfterMs(error: unknown): number | undefined {
  const retryMs = isServiceError(error) ? statusOf(error).retryMs : 0;
  return retryMs || undefined;
}

/** Return what all connections to a server have in common. */
export function commonOptions(server: string): ClientOptions {
  return {
    // As much as the server may send: any number of games can be in one batch.
    "grpc.max_receive_message_length": 64 * 1024 * 1024,
    ...(isLoopback(server) && { "grpc.enable_http_proxy": 0 }),
  };
}

/** Send a token with each call. */
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
