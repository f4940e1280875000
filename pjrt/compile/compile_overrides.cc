// The table of compile options that have a type here.
#include "pjrt/compile/compile_overrides.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace isthmus::pjrt {
namespace {

enum class OptionType { kBool, kInt, kFloat, kString };

struct Option {
  std::string_view name;
  OptionType type;
};

// Our own, fields of ExecutableBuildOptionsProto, and of XLA's options those that its users set
// most.
constexpr Option kOptions[] = {
    {"exec_time_optimization_effort", OptionType::kFloat},
    {"isthmus_optimization", OptionType::kInt},  // as ISTHMUS_OPTIMIZATION
    {"memory_fitting_effort", OptionType::kFloat},
    {"memory_fitting_level", OptionType::kInt},
    {"optimization_level", OptionType::kInt},
    {"xla_allow_excess_precision", OptionType::kBool},
    {"xla_backend_optimization_level", OptionType::kInt},
    {"xla_cpu_enable_fast_math", OptionType::kBool},
    {"xla_cpu_enable_fast_min_max", OptionType::kBool},
    {"xla_cpu_multi_thread_eigen", OptionType::kBool},
    {"xla_cpu_use_onednn", OptionType::kBool},
    {"xla_disable_hlo_passes", OptionType::kString},
    {"xla_dump_hlo_as_proto", OptionType::kBool},
    {"xla_dump_hlo_as_text", OptionType::kBool},
    {"xla_dump_hlo_pass_re", OptionType::kString},
    {"xla_dump_max_hlo_modules", OptionType::kInt},
    {"xla_dump_to", OptionType::kString},
    {"xla_embed_ir_in_executable", OptionType::kBool},
    {"xla_gpu_autotune_level", OptionType::kInt},
    {"xla_hlo_profile", OptionType::kBool},
    {"xla_llvm_disable_expensive_passes", OptionType::kBool},
};

const Option* findOption(std::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string_view nameOf(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "bool";
    case OptionType::kInt:
      return "int";
    case OptionType::kFloat:
      return "float";
    case OptionType::kString:
      return "string";
  }
  return "";
}

// Turns text into the type. False if it says no such value.
bool parse(OptionType type, const std::string& text, AttributeValue& value) {
  const char* end = text.data() + text.size();
  switch (type) {
    case OptionType::kBool:
      if (text == "true" || text == "True" || text == "1") {
        value = true;
      } else if (text == "false" || text == "False" || text == "0") {
        value = false;
      } else {
        return false;
      }
      return true;
    case OptionType::kInt: {
      int64_t number = 0;
      auto [stop, error] = std::from_chars(text.data(), end, number);
      if (error != std::errc() || stop != end) return false;
      value = number;
      return true;
    }
    case OptionType::kFloat: {
      float number = 0;
      auto [stop, error] = std::from_chars(text.data(), end, number);
      if (error != std::errc() || stop != end) return false;
      value = number;
      return true;
    }
    case OptionType::kString:
      value = text;
      return true;
  }
  return false;
}

bool isOfType(OptionType type, const AttributeValue& value) {
  bool isInt = std::holds_alternative<int64_t>(value);
  switch (type) {
    case OptionType::kBool:
      return std::holds_alternative<bool>(value);
    case OptionType::kInt:
      return isInt;
    case OptionType::kFloat:
      return isInt || std::holds_alternative<float>(value);
    case OptionType::kString:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

std::string textOf(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<float>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return "a list";
}

}  // namespace

Status checkOverrides(AttributeMap& overrides) {
  for (auto& [name, value] : overrides) {
    const Option* option = findOption(name);
    if (option == nullptr) {
      if (name.starts_with("xla_")) continue;
      return invalidArgument("No such compile option: '", name, "'");
    }
    if (isOfType(option->type, value)) continue;
    const auto* text = std::get_if<std::string>(&value);
    AttributeValue parsed;
    if (text == nullptr || !parse(option->type, *text, parsed)) {
      return invalidArgument("While setting option ", name, ", '", textOf(value),
                             "' is not a valid ", nameOf(option->type), " value.");
    }
    value = std::move(parsed);
  }
  return {};
}

}  // namespace isthmus::pjrt
