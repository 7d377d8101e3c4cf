#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

/// Reads a file of cases.
inline std::vector<google::protobuf::Struct> cases_in(const std::string& path) {
  std::vector<google::protobuf::Struct> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &cases.emplace_back()).ok()) << line;
  }
  EXPECT_GT(cases.size(), 5u);
  return cases;
}

/// Reads a file of cases that hold for all SDKs.
inline std::vector<google::protobuf::Struct> cases_of(const std::string& name) {
  return cases_in(TESTDATA "/" + name);
}

/// Decodes base64, as protobuf's JSON has bytes.
inline std::string decoded(const std::string& base64) {
  google::protobuf::BytesValue bytes;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage("\"" + base64 + "\"", &bytes).ok());
  return bytes.value();
}
