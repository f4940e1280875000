// What arrays hold, as a graph: contents that are there, that are an error, that somebody promised,
// or that a program computes from others. The prediction that the plugin's results are held
// against.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace isthmus::fuzz {

inline constexpr size_t kElements = 4;
// Elements that nobody wrote are absent, and compare with anything.
using Values = std::array<std::optional<float>, kElements>;

enum class State {
  kPending,  // cannot be ready yet
  kValue,    // is ready, or becomes so without anybody's help
  kError,    // is an error, or becomes one without anybody's help
  kOpen,     // depends on an error and on what is pending: an error, now or later
};

class Content {
 public:
  using Ref = std::shared_ptr<Content>;
  using Function = std::function<Values(const std::vector<Values>&)>;

  static Ref of(const Values& values);
  static Ref error();
  // Pending until `keep` or `fail`.
  static Ref promise();
  static Ref computed(std::vector<Ref> inputs, Function function);
  // The same as all of `inputs`: the first one's values.
  static Ref after(std::vector<Ref> inputs);

  void keep(Ref source);
  void fail();
  State state() const;
  // Only of kValue.
  Values values() const;
  // Whether it waits for `other`, however indirectly.
  bool dependsOn(const Content& other) const;

 private:
  State leaf_ = State::kPending;
  Values values_{};
  std::vector<Ref> inputs_;  // of what is computed, or what keeps a promise
  Function function_;
};

}  // namespace isthmus::fuzz
