// Conversion between PJRT_NamedValue lists and attribute maps.
#include "pjrt/named_value.h"

#include <utility>

#include "pjrt/entry.h"

namespace isthmus::pjrt {
namespace {

StatusOr<AttributeValue> parseValue(const PJRT_NamedValue& value, std::string_view name) {
  switch (value.type) {
    case PJRT_NamedValue_kString:
      if (value.string_value == nullptr && value.value_size != 0) break;
      return AttributeValue(value.value_size == 0
                                ? std::string()
                                : std::string(value.string_value, value.value_size));
    case PJRT_NamedValue_kInt64:
      return AttributeValue(value.int64_value);
    case PJRT_NamedValue_kInt64List:
      if (value.int64_array_value == nullptr && value.value_size != 0) break;
      return AttributeValue(std::vector<int64_t>(value.int64_array_value,
                                                 value.int64_array_value + value.value_size));
    case PJRT_NamedValue_kFloat:
      return AttributeValue(value.float_value);
    case PJRT_NamedValue_kBool:
      return AttributeValue(value.bool_value);
    default:
      return invalidArgument("option '", name, "': unknown value type ",
                             static_cast<int>(value.type));
  }
  return invalidArgument("option '", name, "': null value of length ", value.value_size);
}

}  // namespace

StatusOr<AttributeMap> parseNamedValues(const PJRT_NamedValue* values, size_t count) {
  if (values == nullptr && count != 0) {
    return invalidArgument("null list of ", count, " named values");
  }
  AttributeMap result;
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& value = values[i];
    ISTHMUS_RETURN_IF_ERROR(checkSize(&value));
    if (value.name == nullptr) return invalidArgument("named value ", i, " has no name");
    std::string name(value.name, value.name_size);
    ISTHMUS_ASSIGN_OR_RETURN(AttributeValue parsed, parseValue(value, name));
    if (!result.emplace(name, std::move(parsed)).second) {
      return invalidArgument("option '", name, "' is given twice");
    }
  }
  return result;
}

NamedValueList::NamedValueList(AttributeMap attributes) : attributes_(std::move(attributes)) {
  values_.reserve(attributes_.size());
  for (const auto& [name, value] : attributes_) {
    PJRT_NamedValue out = {};
    out.struct_size = kPjrtStructSize<PJRT_NamedValue>;
    out.name = name.data();
    out.name_size = name.size();
    out.value_size = 1;
    if (const auto* text = std::get_if<std::string>(&value)) {
      out.type = PJRT_NamedValue_kString;
      out.string_value = text->data();
      out.value_size = text->size();
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      out.type = PJRT_NamedValue_kInt64;
      out.int64_value = *number;
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      out.type = PJRT_NamedValue_kInt64List;
      out.int64_array_value = list->data();
      out.value_size = list->size();
    } else if (const auto* real = std::get_if<float>(&value)) {
      out.type = PJRT_NamedValue_kFloat;
      out.float_value = *real;
    } else {
      out.type = PJRT_NamedValue_kBool;
      out.bool_value = std::get<bool>(value);
    }
    values_.push_back(out);
  }
}

}  // namespace isthmus::pjrt
