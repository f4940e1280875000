// OpenCL C of LLVM IR: the text of what kernels are made of, and errors for the rest. That the text
// computes the right thing is for python/tests/xpu_test.py, with a driver.
#include "backends/opencl/codegen/opencl_c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

namespace isthmus::opencl {
namespace {

using ::testing::HasSubstr;

StatusOr<std::string> write(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (!module) return invalidArgument(problem.getMessage().str());
  return writeOpenclC(*module);
}

// The text of a kernel with this body over an operand %x of a type.
std::string body(const std::string& type, const std::string& instructions) {
  StatusOr<std::string> text = write(
      "declare float @llvm.fma.f32(float, float, float)\n"
      "declare i32 @llvm.smax.i32(i32, i32)\n"
      "declare i32 @llvm.fptosi.sat.i32.f32(float)\n"
      "declare float @_Z3powff(float, float)\n"
      "declare i64 @_Z13get_global_idj(i32)\n"
      "define spir_kernel void @k(ptr addrspace(1) %p) {\n  %x = load " +
      type + ", ptr addrspace(1) %p\n" + instructions + "\n  ret void\n}\n");
  return text.ok() ? *text : std::string(text.status().message());
}

TEST(OpenclC, signature_and_memory) {
  std::string text = body("float", "store float %x, ptr addrspace(1) %p");
  EXPECT_THAT(text, HasSubstr("#pragma OPENCL FP_CONTRACT OFF"));
  EXPECT_THAT(text, HasSubstr("kernel void k(global uchar* a0) {"));
  EXPECT_THAT(text, HasSubstr("v0 = *(global any_float*)a0;"));
  EXPECT_THAT(text, HasSubstr("*(global any_float*)a0 = v0;"));
}

TEST(OpenclC, memory_that_work_items_share) {
  std::string text = body("i32", R"(
      %old = atomicrmw max ptr addrspace(1) %p, i32 %x monotonic
      %pair = cmpxchg ptr addrspace(1) %p, i32 %x, i32 %old monotonic monotonic
      %found = extractvalue { i32, i1 } %pair, 0
      store i32 %found, ptr addrspace(1) %p)");
  EXPECT_THAT(text, HasSubstr("atomic_max((volatile global int*)a0, (int)v0)"));
  EXPECT_THAT(text, HasSubstr("uint v2;"));
  EXPECT_THAT(text, HasSubstr("v2 = atomic_cmpxchg((volatile global uint*)a0, v0, v1);"));
  EXPECT_THAT(text, HasSubstr("v3 = v2;"));
  text = body("i64", "%old = atomicrmw add ptr addrspace(1) %p, i64 %x monotonic");
  EXPECT_THAT(text, HasSubstr("cl_khr_int64_base_atomics : enable"));
  EXPECT_THAT(text, HasSubstr("atom_add((volatile global ulong*)a0, v0)"));
  EXPECT_THAT(body("i32", "%old = atomicrmw nand ptr addrspace(1) %p, i32 %x monotonic"),
              HasSubstr("OpenCL C has no such atomic function"));
}

TEST(OpenclC, tables_of_constants_are_outside_of_kernels) {
  StatusOr<std::string> text = write(R"(
    @table = private addrspace(1) constant [3 x i32] [i32 7, i32 -1, i32 9]
    @zeros = private addrspace(1) constant [2 x float] zeroinitializer
    define spir_kernel void @k(ptr addrspace(1) %p, i64 %i) {
      %place = getelementptr i32, ptr addrspace(1) @table, i64 %i
      %x = load i32, ptr addrspace(1) %place
      %y = load float, ptr addrspace(1) @zeros
      store i32 %x, ptr addrspace(1) %p
      ret void
    })");
  ASSERT_TRUE(text.ok()) << text.status().message();
  // Little-endian: 2^64 - 2^32 + 7, and 9.
  EXPECT_THAT(*text, HasSubstr("constant ulong t0[] = {18446744069414584327UL, 9UL, };"));
  EXPECT_THAT(*text, HasSubstr("constant ulong t1[] = {0UL, };"));
  EXPECT_THAT(*text, HasSubstr("constant uchar* v0;"));
  EXPECT_THAT(*text, HasSubstr("v1 = *(constant any_uint*)v0;"));
  EXPECT_THAT(*text, HasSubstr("v2 = *(constant any_float*)((constant uchar*)t1);"));
}

TEST(OpenclC, narrow_products_wrap_as_unsigned) {
  EXPECT_THAT(body("i16", "%y = mul i16 %x, %x"), HasSubstr("v1 = (ushort)((uint)v0 * (uint)v0);"));
}

TEST(OpenclC, signed_arithmetic_has_signed_types) {
  EXPECT_THAT(body("i32", "%y = sdiv i32 %x, -3"),
              HasSubstr("v1 = (uint)((int)v0 / (int)4294967293U);"));
  EXPECT_THAT(body("i32", "%y = ashr i32 %x, 3"), HasSubstr("v1 = (uint)((int)v0 >> 3U);"));
  EXPECT_THAT(body("i32", "%y = icmp slt i32 %x, 0"), HasSubstr("v1 = ((int)v0) < ((int)0U);"));
  EXPECT_THAT(body("i8", "%y = sext i8 %x to i64"), HasSubstr("v1 = (ulong)((char)v0);"));
}

TEST(OpenclC, comparisons_tell_nan_apart) {
  EXPECT_THAT(body("float", "%y = fcmp olt float %x, 0.0"), HasSubstr("v1 = (v0 < as_float(0U));"));
  EXPECT_THAT(body("float", "%y = fcmp ult float %x, 0.0"),
              HasSubstr("v1 = !(v0 >= as_float(0U));"));
  EXPECT_THAT(body("float", "%y = fcmp uno float %x, %x"),
              HasSubstr("v1 = !(v0 == v0 && v0 == v0);"));
}

TEST(OpenclC, constants_keep_their_bits) {
  EXPECT_THAT(body("float", "%y = fadd float %x, 0x7FF8000000000000"),
              HasSubstr("as_float(2143289344U)"));
  EXPECT_THAT(body("i64", "%y = add i64 %x, -1"), HasSubstr("18446744073709551615UL"));
}

TEST(OpenclC, functions_by_their_cxx_names) {
  EXPECT_THAT(body("float", "%y = call spir_func float @_Z3powff(float %x, float %x)"),
              HasSubstr("v1 = pow(v0, v0);"));
  EXPECT_THAT(body("float", "%y = call i64 @_Z13get_global_idj(i32 1)"),
              HasSubstr("v1 = get_global_id(1U);"));
  EXPECT_THAT(body("float", "%y = call float @llvm.fma.f32(float %x, float %x, float %x)"),
              HasSubstr("v1 = fma(v0, v0, v0);"));
  EXPECT_THAT(body("i32", "%y = call i32 @llvm.smax.i32(i32 %x, i32 1)"),
              HasSubstr("v1 = (uint)max((int)v0, (int)1U);"));
  EXPECT_THAT(body("float", "%y = call i32 @llvm.fptosi.sat.i32.f32(float %x)"),
              HasSubstr("v1 = (uint)convert_int_sat(v0);"));
}

// Both phis take what they had before the jump: through variables of their own.
TEST(OpenclC, phis_of_a_loop_change_at_once) {
  StatusOr<std::string> text = write(R"(
    define spir_kernel void @k(ptr addrspace(1) %p) {
    entry:
      br label %loop
    loop:
      %a = phi i32 [ 1, %entry ], [ %b, %loop ]
      %b = phi i32 [ 2, %entry ], [ %a, %loop ]
      %c = icmp eq i32 %a, 7
      br i1 %c, label %loop, label %done
    done:
      ret void
    })");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("v0_in = 1U; v1_in = 2U; goto b1;"));
  EXPECT_THAT(*text, HasSubstr("b1:;\n  v0 = v0_in;\n  v1 = v1_in;\n"));
  EXPECT_THAT(*text, HasSubstr("if (v2) { v0_in = v1; v1_in = v0; goto b1; }"));
}

TEST(OpenclC, addresses_are_counted_in_bytes) {
  EXPECT_THAT(body("i64", "%q = getelementptr float, ptr addrspace(1) %p, i64 %x"),
              HasSubstr("v1 = a0 + (0L + (long)((long)v0) * 4L);"));
}

TEST(OpenclC, halves_are_only_moved) {
  EXPECT_THAT(body("half", "%y = bitcast half %x to i16"), HasSubstr("ushort v0;"));
  EXPECT_THAT(body("half", "%y = fadd half %x, %x"), HasSubstr("arithmetic on f16"));
}

TEST(OpenclC, what_has_no_text_is_named) {
  StatusOr<std::string> text =
      write("define spir_kernel void @k(<4 x float> %x) {\n  ret void\n}\n");
  EXPECT_EQ(text.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(text.status().message()), HasSubstr("<4 x float>"));
}

}  // namespace
}  // namespace isthmus::opencl
