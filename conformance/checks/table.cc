// The function table, its version, extensions and errors.
#include <cstring>
#include <set>

#include "conformance/check.h"

namespace isthmus::conformance {

ISTHMUS_CHECK(table, version, kLoads,
              "the table says its version: major 0 and a minor at least 40") {
  const PJRT_Api_Version& version = s.api().pjrt_api_version;
  s.expect(version.major_version == 0, "major version 0", std::to_string(version.major_version));
  s.expect(version.minor_version >= 40, "a minor version of at least 40",
           std::to_string(version.minor_version));
}

ISTHMUS_CHECK(table, entries, kLoads, "every entry within struct_size is a function") {
  std::string missing;
  int present = 0;
  auto look = [&](const char* name, const void* slot, size_t end) {
    const void* function;
    if (end > s.api().struct_size) return;
    std::memcpy(&function, slot, sizeof(function));
    if (function == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
    ++present;
  };
#define ISTHMUS_LOOK(name) \
  look("PJRT_" #name, &s.api().PJRT_##name, offsetof(PJRT_Api, PJRT_##name) + sizeof(void*));
  if (s.api().struct_size >= offsetof(PJRT_Api, PJRT_Client_Create)) {
    ISTHMUS_PJRT_SLOTS(ISTHMUS_LOOK)
  }
#undef ISTHMUS_LOOK
  s.expect(missing.empty(), "no null entries", missing);
  s.expect(present >= 60, "at least 60 entries", std::to_string(present));
}

ISTHMUS_CHECK(table, extensions, kLoads,
              "the list of extensions ends, and every node says its size and a type of its own") {
  std::set<const void*> seen;
  std::set<int> types;
  for (const PJRT_Extension_Base* node = s.api().extension_start; node; node = node->next) {
    s.expect(seen.insert(node).second, "a list that ends", "a cycle");
    s.expect(node->struct_size >= sizeof(PJRT_Extension_Base), "a node of at least 24 bytes",
             std::to_string(node->struct_size));
    s.expect(types.insert(node->type).second, "each type once",
             "type " + std::to_string(node->type) + " twice");
  }
}

ISTHMUS_CHECK(table, initialize_twice, kLoads, "PJRT_Plugin_Initialize may be called again") {
  auto args = make<PJRT_Plugin_Initialize_Args>();
  s.must(&PJRT_Api::PJRT_Plugin_Initialize, args);
  s.must(&PJRT_Api::PJRT_Plugin_Initialize, args);
}

ISTHMUS_CHECK(table, attributes, kLoads, "plugin attributes have names, known types and values") {
  auto args = make<PJRT_Plugin_Attributes_Args>();
  s.must(&PJRT_Api::PJRT_Plugin_Attributes, args);
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    s.expect(value.name != nullptr && value.name_size > 0, "a name", "none");
    const std::string name(value.name, value.name_size);
    s.expect(value.type >= PJRT_NamedValue_kString && value.type <= PJRT_NamedValue_kBool,
             "a known type of " + name, std::to_string(value.type));
    const bool isList = value.type == PJRT_NamedValue_kInt64List;
    const bool isString = value.type == PJRT_NamedValue_kString;
    s.expect(isList || isString || value.value_size == 1, "value_size 1 of " + name,
             std::to_string(value.value_size));
  }
}

ISTHMUS_CHECK(error, destroy_null, kFramework, "PJRT_Error_Destroy of null does nothing") {
  auto args = make<PJRT_Error_Destroy_Args>();
  s.api().PJRT_Error_Destroy(&args);
}

ISTHMUS_CHECK(error, small_struct_size, kFramework,
              "arguments whose struct_size is too small for what is asked are refused") {
  auto args = make<PJRT_Client_PlatformName_Args>();
  args.client = s.client();
  args.struct_size = sizeof(size_t);
  s.mustFail(&PJRT_Api::PJRT_Client_PlatformName, args, "for a struct_size of 8");
}

ISTHMUS_CHECK(error, large_struct_size, kFramework,
              "arguments of newer callers, which are larger, are read as far as they are known") {
  struct Newer {
    PJRT_Client_PlatformName_Args args;
    char more[64];
  } newer = {};
  newer.args = make<PJRT_Client_PlatformName_Args>();
  newer.args.struct_size = sizeof(newer);
  newer.args.client = s.client();
  std::memset(newer.more, 0x5A, sizeof(newer.more));
  s.must(&PJRT_Api::PJRT_Client_PlatformName, newer.args);
  for (char byte : newer.more)
    s.expect(byte == 0x5A, "bytes past the known fields kept", "a write");
}

ISTHMUS_CHECK(error, message_is_useful, kFramework, "an error says what was wrong") {
  LoadedExecutable executable;
  const Outcome outcome = s.tryCompile("this is no program", &executable);
  s.refuse("PJRT_Client_Compile", outcome, "for text that is no program");
  s.expect(outcome.message.size() >= 10, "a message of a few words", "'" + outcome.message + "'");
}

}  // namespace isthmus::conformance
