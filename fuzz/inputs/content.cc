// Evaluates the graph anew at each question; sequences are short.
#include "fuzz/inputs/content.h"

#include <algorithm>

namespace isthmus::fuzz {

Content::Ref Content::of(const Values& values) {
  auto content = std::make_shared<Content>();
  content->leaf_ = State::kValue;
  content->values_ = values;
  return content;
}

Content::Ref Content::error() {
  auto content = std::make_shared<Content>();
  content->fail();
  return content;
}

Content::Ref Content::promise() { return std::make_shared<Content>(); }

Content::Ref Content::computed(std::vector<Ref> inputs, Function function) {
  auto content = std::make_shared<Content>();
  content->inputs_ = std::move(inputs);
  content->function_ = std::move(function);
  return content;
}

Content::Ref Content::after(std::vector<Ref> inputs) {
  return computed(std::move(inputs), [](const std::vector<Values>& all) { return all[0]; });
}

void Content::keep(Ref source) {
  inputs_ = {std::move(source)};
  function_ = [](const std::vector<Values>& all) { return all[0]; };
}

void Content::fail() { leaf_ = State::kError; }

State Content::state() const {
  if (inputs_.empty()) return leaf_;
  bool isPending = false, isError = false, isOpen = false;
  for (const Ref& input : inputs_) {
    const State state = input->state();
    isPending |= state == State::kPending;
    isError |= state == State::kError;
    isOpen |= state == State::kOpen;
  }
  if (isOpen || (isPending && isError)) return State::kOpen;
  return isError ? State::kError : isPending ? State::kPending : State::kValue;
}

Values Content::values() const {
  if (inputs_.empty()) return values_;
  std::vector<Values> all;
  for (const Ref& input : inputs_) all.push_back(input->values());
  return function_(all);
}

bool Content::dependsOn(const Content& other) const {
  return this == &other || std::any_of(inputs_.begin(), inputs_.end(),
                                       [&](const Ref& input) { return input->dependsOn(other); });
}

}  // namespace isthmus::fuzz
