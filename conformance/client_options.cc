#include "conformance/client_options.h"

#include <charconv>
#include <optional>
#include <stdexcept>

namespace isthmus::conformance {
namespace {

template <typename T>
std::optional<T> numberOf(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

std::optional<std::vector<int64_t>> numbersOf(std::string_view text) {
  std::vector<int64_t> values;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::optional<int64_t> value = numberOf<int64_t>(text.substr(0, comma));
    if (!value) return std::nullopt;
    values.push_back(*value);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return values;
}

std::optional<bool> truthOf(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

bool isOneOf(std::string_view type, std::string_view wanted) {
  return type.empty() || type == wanted;
}

}  // namespace

ClientOption parseClientOption(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw std::runtime_error("an option is name=value");
  std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  std::string_view type;
  if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
    type = name.substr(colon + 1);
    name = name.substr(0, colon);
    if (type.empty()) throw std::runtime_error("the type of " + std::string(name) + " is missing");
  }
  if (name.empty()) throw std::runtime_error("an option has a name");
  ClientOption option{std::string(name), std::string(value)};
  // The first that it can be.
  if (isOneOf(type, "bool")) {
    if (auto truth = truthOf(value)) return {option.name, *truth};
  }
  if (isOneOf(type, "int64")) {
    if (auto number = numberOf<int64_t>(value)) return {option.name, *number};
  }
  if (type == "int64s" || (type.empty() && value.find(',') != std::string_view::npos)) {
    if (auto numbers = numbersOf(value)) return {option.name, *std::move(numbers)};
  }
  if (isOneOf(type, "float")) {
    if (auto number = numberOf<float>(value)) return {option.name, *number};
  }
  if (isOneOf(type, "string")) return option;
  throw std::runtime_error("'" + std::string(value) + "' is no " + std::string(type));
}

PJRT_NamedValue ClientOption::named() const {
  PJRT_NamedValue named{};
  named.struct_size = kPjrtStructSize<PJRT_NamedValue>;
  named.name = name.data();
  named.name_size = name.size();
  named.value_size = 1;
  if (const auto* text = std::get_if<std::string>(&value)) {
    named.type = PJRT_NamedValue_kString;
    named.string_value = text->data();
    named.value_size = text->size();
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    named.type = PJRT_NamedValue_kInt64;
    named.int64_value = *number;
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    named.type = PJRT_NamedValue_kInt64List;
    named.int64_array_value = numbers->data();
    named.value_size = numbers->size();
  } else if (const auto* fraction = std::get_if<float>(&value)) {
    named.type = PJRT_NamedValue_kFloat;
    named.float_value = *fraction;
  } else {
    named.type = PJRT_NamedValue_kBool;
    named.bool_value = std::get<bool>(value);
  }
  return named;
}

}  // namespace isthmus::conformance
