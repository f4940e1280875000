// A descriptor of cuDNN's graphs, and what is asked of one for attention.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fake_dnn {

struct Descriptor {
  int kind = -1;
  bool isFinished = false;
  std::map<int, std::string> attributes;
  // Of an engine's configuration and of what is made of it: its number below.
  int engine = -1;
  const Descriptor* graph = nullptr;

  bool has(int name) const { return attributes.count(name) != 0; }
  template <typename Value>
  std::vector<Value> list(int name) const {
    const std::string& bytes = attributes.at(name);
    std::vector<Value> values(bytes.size() / sizeof(Value));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  template <typename Value>
  Value one(int name) const {
    return list<Value>(name).at(0);
  }
  const Descriptor& other(int name) const { return *one<const Descriptor*>(name); }
};

bool isVirtual(const Descriptor& tensor);
bool isByValue(const Descriptor& tensor);
int64_t idOf(const Descriptor& tensor);

// What is enqueued for an attention.
struct AttentionWork {
  std::string name;  // "attention causal bf16 2x4x256x64 over 2x256"
  std::function<void()> work;
};

// Whether operations are those that cuDNN has a kernel of attention for, in their order.
bool isAttention(const std::vector<const Descriptor*>& operations);
// Nothing if a buffer is missing. `pointerOf` gives the place of an array by its id.
std::optional<AttentionWork> attentionOf(const std::vector<const Descriptor*>& operations,
                                         const std::function<void*(int64_t)>& pointerOf);

}  // namespace fake_dnn
