// Input that means harm: an error will do, a crash or a hang will not.
#include <random>

#include "conformance/check.h"
#include "conformance/checks/programs.h"

namespace isthmus::conformance {
namespace {

// Compiles text for its outcome only.
void survive(Session& s, std::string_view program) {
  LoadedExecutable executable;
  s.tryCompile(program, &executable);
}

std::string mutate(std::string text, std::mt19937& rng) {
  const int edits = 1 + static_cast<int>(rng() % 4);
  for (int i = 0; i < edits && !text.empty(); ++i) {
    const size_t at = rng() % text.size();
    switch (rng() % 4) {
      case 0:
        text[at] = static_cast<char>(rng());
        break;
      case 1:
        text.erase(at, 1 + rng() % 20);
        break;
      case 2:
        text.insert(at, text.substr(rng() % text.size(), rng() % 20));
        break;
      default:
        text.insert(at, std::to_string(static_cast<int64_t>(rng()) << (rng() % 40)));
    }
  }
  return text;
}

}  // namespace

ISTHMUS_CHECK(hostile, truncated_program, kComplete,
              "every beginning of a program gets an error or compiles") {
  for (size_t size = 0; size < kAddOne.size(); size += 3) survive(s, kAddOne.substr(0, size));
}

ISTHMUS_CHECK(hostile, mutated_program, kComplete, "mutated programs get an error or compile") {
  std::mt19937 rng(1);
  for (int i = 0; i < 400; ++i)
    survive(s, mutate(std::string(i % 2 ? kAddOne : kSumAndProduct), rng));
}

ISTHMUS_CHECK(hostile, deep_nesting, kComplete,
              "a program nested a hundred thousand deep gets an error") {
  std::string program = "module { func.func public @main() { %0 = \"a.b\"() {x = ";
  for (int i = 0; i < 100'000; ++i) program += '[';
  survive(s, program);
  std::string types = "module { func.func public @main(%x: ";
  for (int i = 0; i < 100'000; ++i) types += "tuple<";
  survive(s, types);
}

ISTHMUS_CHECK(hostile, huge_shapes, kComplete, "shapes that no memory holds get an error") {
  for (std::string_view shape :
       {"9223372036854775807xf32", "4294967296x4294967296x16xf32", "1099511627776xf32"}) {
    std::string program = "module { func.func public @main() -> tensor<" + std::string(shape) +
                          "> { %r = stablehlo.constant dense<1.0> : tensor<" + std::string(shape) +
                          "> return %r : tensor<" + std::string(shape) + "> } }";
    LoadedExecutable executable;
    if (!s.tryCompile(program, &executable).ok()) continue;
    std::vector<std::vector<Buffer>> results;
    Outcome outcome = s.tryExecute(executable.get(), {{}}, 1, {}, &results);
    if (outcome.ok()) outcome = s.awaitReady(results[0][0]);
    s.refuse("executing", outcome, "for a result of tensor<" + std::string(shape) + ">");
  }
}

ISTHMUS_CHECK(hostile, huge_groups, kComplete, "replica groups of a huge splat get an error") {
  for (std::string_view value : {"0", "-1"}) {
    std::string program(kAllReduce);
    const std::string_view groups = "dense<[[0, 1]]> : tensor<1x2xi64>";
    program.replace(program.find(groups), groups.size(),
                    "dense<" + std::string(value) + "> : tensor<1x9223372036854775807xi64>");
    LoadedExecutable executable;
    s.refuse("PJRT_Client_Compile", s.tryCompile(program, &executable), "for such groups");
  }
}

ISTHMUS_CHECK(hostile, compile_options, kComplete,
              "compile options that are no message get an error or are ignored") {
  std::mt19937 rng(2);
  std::string code(kAddOne);
  auto program = make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  for (int i = 0; i < 300; ++i) {
    std::string options(rng() % 24, '\0');
    for (char& c : options) c = static_cast<char>(rng());
    auto args = make<PJRT_Client_Compile_Args>();
    args.client = s.client();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    if (s.call(&PJRT_Api::PJRT_Client_Compile, args).ok()) LoadedExecutable(s, args.executable);
  }
}

ISTHMUS_CHECK(hostile, serialized_executable, kComplete, "damaged executables are refused") {
  LoadedExecutable loaded = s.compile(kAddOne);
  Executable executable = s.executableOf(loaded);
  auto serialize = make<PJRT_Executable_Serialize_Args>();
  serialize.executable = executable.get();
  s.mayLack(&PJRT_Api::PJRT_Executable_Serialize, serialize);
  const std::string bytes(serialize.serialized_bytes, serialize.serialized_bytes_size);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  std::mt19937 rng(3);
  for (int i = 0; i < 200; ++i) {
    const std::string damaged = i % 2 ? bytes.substr(0, rng() % bytes.size()) : mutate(bytes, rng);
    auto args = make<PJRT_Executable_DeserializeAndLoad_Args>();
    args.client = s.client();
    args.serialized_executable = damaged.data();
    args.serialized_executable_size = damaged.size();
    if (s.call(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, args).ok()) {
      LoadedExecutable(s, args.loaded_executable);
    }
  }
}

ISTHMUS_CHECK(hostile, endless_alias_dag, kComplete,
              "attributes that double in each alias get an error or are read, in finite time") {
  std::string program = "#a0 = [1 : i32, 2 : i32]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string last = "#a" + std::to_string(i - 1);
    program += "#a" + std::to_string(i) + " = [" + last + ", " + last + ", " + last + "]\n";
  }
  program += "module attributes {x.y = #a59} { func.func public @main() { return } }";
  survive(s, program);
}

}  // namespace isthmus::conformance
