#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "cases.h"
#include "happycity/v1/play_service.pb.h"

namespace {

using google::protobuf::util::JsonStringToMessage;

/// Makes an empty message by its name in happycity.v1.
std::unique_ptr<google::protobuf::Message> new_message(const std::string& type) {
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("happycity.v1." + type);
  const auto* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor);
  return std::unique_ptr<google::protobuf::Message>(prototype->New());
}

// The bytes of each kind of message are read as its fields.
TEST(Messages, ReadAsTheirFields) {
  happycity::v1::PlayRequest linked;  // the descriptors of all
  std::ifstream file(TESTDATA "/messages.jsonl");
  int number = 0;
  for (std::string line; std::getline(file, line); number++) {
    google::protobuf::Struct json;
    ASSERT_TRUE(JsonStringToMessage(line, &json).ok()) << line;
    const auto& fields = json.fields();
    const auto expected = new_message(fields.at("type").string_value()),
               read = new_message(fields.at("type").string_value());
    std::string text;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(fields.at("fields").struct_value(), &text).ok());
    ASSERT_TRUE(JsonStringToMessage(text, expected.get()).ok()) << line;
    ASSERT_TRUE(read->ParseFromString(decoded(fields.at("bytes").string_value()))) << line;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*expected, *read)) << line;
  }
  EXPECT_GT(number, 20);
}

}  // namespace
