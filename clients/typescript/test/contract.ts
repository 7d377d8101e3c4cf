/** Messages of the contract from protobuf's JSON mapping, read by its descriptors and not by the generated code. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** The data for all SDKs. */
const CONFORMANCE = new URL("../../../conformance/", import.meta.url);

/** `npm test` builds the descriptors. */
const descriptors = fromBinary(FileDescriptorSetSchema, readFileSync(new URL("../contract.binpb", import.meta.url)));
const registry = createFileRegistry(descriptors);

/** Return the message with these fields, as the generated code has it. */
export function messageOf<T>(type: string, fields: JsonValue): T {
  const schema = schemaOf(type);
  return plain(schema, fromJson(schema, fields)) as T;
}

/** Return the encoded message with these fields. */
export function bytesOf(type: string, fields: JsonValue): Buffer {
  const schema = schemaOf(type);
  return Buffer.from(toBinary(schema, fromJson(schema, fields)));
}

function schemaOf(type: string): DescMessage {
  const schema = registry.getMessage(`happycity.v1.${type}`);
  assert(schema, `there is no message ${type}`);
  return schema;
}

/** Return the content of a file of JSON. */
export function jsonOf(name: string): JsonValue {
  return JSON.parse(readFileSync(new URL(name, CONFORMANCE), "utf8"));
}

/** Return the objects of a file of JSON lines. */
export function linesOf<T>(name: string): T[] {
  const lines = readFileSync(new URL(name, CONFORMANCE), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

function plain(schema: DescMessage, message: object): object {
  const values = message as Record<string, unknown>;
  const entries = schema.members.map((member) => {
    const value = values[member.localName];
    return [member.localName, member.kind === "oneof" ? plainOneof(member.fields, value) : plainValue(member, value)];
  });
  return Object.fromEntries(entries);
}

function plainOneof(fields: readonly DescField[], oneof: unknown): object | undefined {
  const { case: name, value } = oneof as { case: string | undefined; value: unknown };
  const field = fields.find(({ localName }) => localName === name);
  return field && { $case: name, value: plainValue(field, value) };
}

function plainValue(field: DescField, value: unknown): unknown {
  const { message: schema } = field;
  if (schema === undefined || value === undefined) return value;
  return Array.isArray(value) ? value.map((item) => plain(schema, item)) : plain(schema, value as object);
}
