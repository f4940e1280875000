// Many modules from one process: each is well-formed by itself.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "backends/opencl/codegen/spirv.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace isthmus::opencl {
namespace {

// A kernel with `blocks` blocks, each behind a condition.
void addKernel(llvm::Module& module, const std::string& name, int blocks) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto* pointer = llvm::PointerType::get(context, 1);
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer}, false),
                                        llvm::Function::ExternalLinkage, name, module);
  kernel->setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", kernel));
  for (int i = 0; i < blocks; ++i) {
    llvm::Value* place = b.CreateConstGEP1_64(b.getInt32Ty(), kernel->getArg(0), i);
    llvm::Value* value = b.CreateLoad(b.getInt32Ty(), place);
    auto* then = llvm::BasicBlock::Create(context, "then", kernel);
    auto* next = llvm::BasicBlock::Create(context, "next", kernel);
    b.CreateCondBr(b.CreateICmpSGT(value, b.getInt32(i)), then, next);
    b.SetInsertPoint(then);
    b.CreateStore(b.getInt32(7), place);
    b.CreateBr(next);
    b.SetInsertPoint(next);
  }
  b.CreateRetVoid();
}

// What is wrong with the ids that the instructions of these kernels define; empty if nothing is.
std::string wrongIds(const std::string& binary) {
  std::vector<uint32_t> words(binary.size() / 4);
  std::memcpy(words.data(), binary.data(), words.size() * 4);
  std::set<uint32_t> defined;
  for (size_t at = 5; at < words.size();) {
    uint32_t opcode = words[at] & 0xffff;
    size_t length = words[at] >> 16;
    if (length == 0 || at + length > words.size()) return "a cut instruction";
    // OpLabel and types have their id first; constants, variables and all of a function's
    // instructions, but for branches, stores and its end, after their type.
    size_t place = opcode == 248 || (opcode >= 19 && opcode <= 39) || opcode == 11 ? 1 : 0;
    bool isTyped = (opcode >= 41 && opcode <= 55) || opcode == 59 || opcode == 61 ||
                   (opcode >= 65 && opcode <= 70) || (opcode >= 109 && opcode <= 191) ||
                   opcode == 245;
    if (isTyped) place = 2;
    if (place > 0) {
      uint32_t id = words[at + place];
      if (id >= words[3]) return "id " + std::to_string(id) + " is beyond the bound";
      if (!defined.insert(id).second) return "id " + std::to_string(id) + " is defined twice";
    }
    at += length;
  }
  return defined.size() > 10 ? "" : "nothing is defined";
}

std::string emitMany(int count) {
  for (int round = 0; round < count; ++round) {
    llvm::LLVMContext context;
    StatusOr<std::unique_ptr<llvm::Module>> module = makeModule("kernels", context);
    if (!module.ok()) return std::string(module.status().message());
    // Of changing sizes, so that memory is used again in other ways.
    for (int k = 0; k <= round % 4; ++k) {
      addKernel(**module, "kernel" + std::to_string(k), 1 + (round * 5 + k * 3) % 11);
    }
    StatusOr<std::string> binary = compileToSpirv(**module);
    if (!binary.ok()) return std::string(binary.status().message());
    std::string wrong = wrongIds(*binary);
    if (!wrong.empty()) return "module " + std::to_string(round) + ": " + wrong;
  }
  return "";
}

TEST(EmitSpirv, ids_of_one_module_are_not_those_of_another) { EXPECT_EQ(emitMany(100), ""); }

TEST(EmitSpirv, threads_emit_side_by_side) {
  std::string other;
  std::thread thread([&] { other = emitMany(30); });
  EXPECT_EQ(emitMany(30), "");
  thread.join();
  EXPECT_EQ(other, "");
}

// The operands of integer arithmetic have its type, which SPIR-V demands.
TEST(EmitSpirv, parts_of_integers_are_cut_off_in_their_own_type) {
  for (bool isSigned : {false, true}) {
    llvm::LLVMContext context;
    StatusOr<std::unique_ptr<llvm::Module>> module = makeModule("kernels", context);
    ASSERT_TRUE(module.ok());
    llvm::IRBuilder<> b(context);
    auto* pointer = llvm::PointerType::get(context, 1);
    auto* kernel =
        llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer}, false),
                               llvm::Function::ExternalLinkage, "kernel0", **module);
    kernel->setCallingConv(llvm::CallingConv::SPIR_KERNEL);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", kernel));
    llvm::Value* whole = b.CreateLoad(b.getInt32Ty(), kernel->getArg(0));
    llvm::Value* part = b.CreateTrunc(whole, b.getInt8Ty());
    llvm::Value* wide = b.CreateIntCast(part, b.getInt16Ty(), isSigned);
    b.CreateStore(b.CreateLShr(wide, 1), kernel->getArg(1));
    b.CreateRetVoid();
    StatusOr<std::string> binary = compileToSpirv(**module);
    ASSERT_TRUE(binary.ok()) << binary.status().message();

    std::vector<uint32_t> words(binary->size() / 4);
    std::memcpy(words.data(), binary->data(), words.size() * 4);
    std::map<uint32_t, uint32_t> typeOf;
    int checked = 0;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
      uint32_t opcode = words[at] & 0xffff;
      if (opcode < 41 || opcode == 56 || opcode == 62 || opcode == 248 || opcode >= 249) continue;
      if (opcode == 71) continue;  // OpDecorate
      typeOf[words[at + 2]] = words[at + 1];
      if (opcode < 194 || opcode > 199) continue;  // shifts and operations on bits
      EXPECT_EQ(typeOf[words[at + 3]], words[at + 1]) << "of the instruction at word " << at;
      ++checked;
    }
    EXPECT_GT(checked, 0);
  }
}

}  // namespace
}  // namespace isthmus::opencl
