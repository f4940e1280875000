// One process of two; the test is the other.
#include "runtime/bootstrap/peer_check.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/bootstrap/memory_key_value_store.h"

namespace isthmus {
namespace {

// Gives to whoever receives what the test says, and keeps what is sent.
class AnsweringTransport final : public Transport {
 public:
  explicit AnsweringTransport(std::string answer) : answer_(std::move(answer)) {}
  Status exchange(std::span<const OutgoingMessage> outgoing,
                  std::span<const IncomingMessage> incoming, std::chrono::milliseconds,
                  int&) override {
    for (const OutgoingMessage& message : outgoing) {
      sent.append(static_cast<const char*>(message.data), message.bytes);
    }
    for (const IncomingMessage& message : incoming) {
      EXPECT_EQ(message.bytes, answer_.size());
      std::memcpy(message.data, answer_.data(), message.bytes);
    }
    return {};
  }
  void close() override { isClosed = true; }

  std::string sent;
  bool isClosed = false;

 private:
  std::string answer_;
};

const TransportOptions kOptions{0, 2, "test/", "", std::chrono::milliseconds(100)};
const std::string kForUs(32, 'a'), kForThem(32, 'b');

TEST(PeerCheckTest, KnowsWhoKnowsTheSecret) {
  testing::MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("test/secrets/1", kForUs + kForThem).ok());
  AnsweringTransport transport(kForUs);
  Status status = checkPeers(transport, store, kOptions);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(transport.isClosed);
  // What the other one finds in the store under our number.
  StatusOr<std::string> ours = store.tryGet("test/secrets/0");
  ASSERT_TRUE(ours.ok());
  EXPECT_EQ(transport.sent, ours->substr(32));
  EXPECT_NE(ours->substr(0, 32), ours->substr(32));
}

TEST(PeerCheckTest, StrangerIsRefused) {
  for (const std::string& answer : {kForThem, std::string(32, '\0')}) {
    testing::MemoryKeyValueStore store;
    ASSERT_TRUE(store.put("test/secrets/1", kForUs + kForThem).ok());
    AnsweringTransport transport(answer);
    Status status = checkPeers(transport, store, kOptions);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
    EXPECT_NE(std::string(status.message()).find("for process 1 does not know its secret"),
              std::string::npos);
    EXPECT_TRUE(transport.isClosed);
  }
}

}  // namespace
}  // namespace isthmus
