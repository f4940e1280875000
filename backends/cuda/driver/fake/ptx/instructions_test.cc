// Instructions of one thread: what NVIDIA's "PTX ISA" says they compute.
#include <cmath>
#include <limits>

#include "backends/cuda/driver/fake/ptx/testing.h"

namespace isthmus::ptx {
namespace {

constexpr uint32_t kNan = 0x7fffffff, kMinusZero = 0x80000000, kInfinity = 0x7f800000;

TEST(PtxInstructions, integers_wrap_and_saturate) {
  EXPECT_EQ(narrow("add.s32 %r, %x, %y;", 0x7fffffff, 1), 0x80000000);
  EXPECT_EQ(narrow("add.sat.s32 %r, %x, %y;", 0x7fffffff, 1), 0x7fffffff);
  EXPECT_EQ(narrow("sub.sat.s32 %r, %x, %y;", 0x80000000, 1), 0x80000000);
  EXPECT_EQ(wide("sub.s64 %d, %a, %b;", 0, 1), ~uint64_t{0});
  EXPECT_EQ(narrow("mul.lo.s32 %r, %x, %y;", 0x10001, 0x10001), 0x20001u);
  EXPECT_EQ(narrow("mul.hi.s32 %r, %x, %y;", 0xffffffff, 2), 0xffffffffu);
  EXPECT_EQ(narrow("mul.hi.u32 %r, %x, %y;", 0xffffffff, 2), 1u);
  EXPECT_EQ(wide("mul.hi.s64 %d, %a, %b;", ~uint64_t{0}, 2), ~uint64_t{0});
  EXPECT_EQ(wide("mul.wide.s32 %d, %x, %y;", 0xffffffff, 2), uint64_t(-2));
  EXPECT_EQ(wide("mul.wide.u32 %d, %x, %y;", 0xffffffff, 2), 0x1fffffffeu);
  EXPECT_EQ(wide("mad.wide.s32 %d, %x, %y, %c;", 0xffffffff, 2, 5), 3u);
  EXPECT_EQ(narrow("mad.lo.s32 %r, %x, %y, %z;", 3, 4, 5), 17u);
  EXPECT_EQ(narrow("div.s32 %r, %x, %y;", uint32_t(-7), 2), uint32_t(-3));
  EXPECT_EQ(narrow("rem.s32 %r, %x, %y;", uint32_t(-7), 2), uint32_t(-1));
  EXPECT_EQ(narrow("div.s32 %r, %x, %y;", 0x80000000, uint32_t(-1)), 0x80000000);
  EXPECT_EQ(half("div.u16 %k, %h, %i;", 0xffff, 2), 0x7fff);
  EXPECT_EQ(half("max.s16 %k, %h, %i;", 0xffff, 2), 2);
  EXPECT_EQ(narrow("min.u32 %r, %x, %y;", 0xffffffff, 2), 2u);
  EXPECT_EQ(narrow("add.s16x2 %r, %x, %y;", 0x0001ffff, 0x7fff0001), 0x80000000);
  EXPECT_EQ(narrow("min.s16x2 %r, %x, %y;", 0xffff0003, 0x0002fffe), 0xfffffffeu);
  EXPECT_EQ(narrow("max.u16x2 %r, %x, %y;", 0xffff0003, 0x0002fffe), 0xfffffffeu);
  EXPECT_EQ(narrow("min.u16x2 %r, %x, %y;", 0xffff0003, 0x0002fffe), 0x00020003u);
  EXPECT_EQ(narrow("abs.s32 %r, %x;", 0x80000000), 0x80000000);
  EXPECT_EQ(narrow("sad.u32 %r, %x, %y, %z;", 3, 10, 1), 8u);
  EXPECT_EQ(narrow("dp4a.s32.s32 %r, %x, %y, %z;", 0xff020304, 0x01010101, 10), 18u);
  EXPECT_EQ(narrow("dp4a.u32.u32 %r, %x, %y, %z;", 0xff020304, 0x01010101, 10), 274u);
}

TEST(PtxInstructions, carries_go_on) {
  std::string add = "add.cc.u32 %r, %x, %y; addc.u32 %r, %z, 0;";
  EXPECT_EQ(narrow(add, 0xffffffff, 1, 7), 8u);
  EXPECT_EQ(narrow(add, 0xfffffffe, 1, 7), 7u);
  EXPECT_EQ(narrow("sub.cc.u32 %r, %x, %y; subc.u32 %r, %z, 0;", 0, 1, 7), 6u);
  // (2^32 - 1)^2 + 2^32 - 1 = (2^32 - 1) 2^32.
  EXPECT_EQ(narrow("mad.lo.cc.u32 %r, %x, %y, %z; madc.hi.u32 %r, %x, %y, 0;", 0xffffffff,
                   0xffffffff, 0xffffffff),
            0xffffffffu);
}

TEST(PtxInstructions, bits_are_shifted_found_and_moved) {
  EXPECT_EQ(narrow("shl.b32 %r, %x, %y;", 1, 32), 0u);
  EXPECT_EQ(narrow("shr.s32 %r, %x, %y;", 0x80000000, 99), 0xffffffffu);
  EXPECT_EQ(narrow("shr.u32 %r, %x, %y;", 0x80000000, 32), 0u);
  EXPECT_EQ(narrow("shr.u32 %r, %x, %y;", 0x80000000, 31), 1u);
  EXPECT_EQ(narrow("shf.l.wrap.b32 %r, %x, %y, %z;", 0x80000001, 0x2, 33), 5u);
  EXPECT_EQ(narrow("shf.l.clamp.b32 %r, %x, %y, %z;", 0x80000001, 0x2, 33), 0x80000001);
  EXPECT_EQ(narrow("shf.r.wrap.b32 %r, %x, %y, %z;", 0x2, 1, 1), 0x80000001);
  EXPECT_EQ(narrow("bfe.u32 %r, %x, %y, %z;", 0xabcd, 4, 8), 0xbcu);
  EXPECT_EQ(narrow("bfe.s32 %r, %x, %y, %z;", 0xabcd, 4, 8), 0xffffffbcu);
  EXPECT_EQ(narrow("bfe.s32 %r, %x, %y, %z;", 0x80000000, 28, 8), 0xfffffff8u);
  EXPECT_EQ(narrow("bfi.b32 %r, %x, %y, 8, 4;", 0xf5, 0xffffffff), 0xfffff5ffu);
  EXPECT_EQ(narrow("bfind.u32 %r, %x;", 0x00010000), 16u);
  EXPECT_EQ(narrow("bfind.u32 %r, %x;", 0), 0xffffffffu);
  EXPECT_EQ(narrow("bfind.s32 %r, %x;", 0xfffffffe), 0u);
  EXPECT_EQ(narrow("brev.b32 %r, %x;", 0x00000003), 0xc0000000);
  EXPECT_EQ(narrow("popc.b64 %r, %a;", 0xf0f0), 8u);
  EXPECT_EQ(narrow("clz.b32 %r, %x;", 0), 32u);
  EXPECT_EQ(narrow("clz.b64 %r, %a;", 1), 63u);
  EXPECT_EQ(narrow("prmt.b32 %r, %x, %y, %z;", 0x33221100, 0x77665544, 0x7504), 0x77550044u);
  EXPECT_EQ(narrow("prmt.b32 %r, %x, %y, 0x9999;", 0x0000ff00, 0), 0xffffffffu);
  // The table of (a & b) ^ c.
  uint32_t table = (0xf0 & 0xcc) ^ 0xaa;
  EXPECT_EQ(
      narrow("lop3.b32 %r, %x, %y, %z, " + std::to_string(table) + ";", 0x1234, 0xff00, 0xffff),
      (0x1234u & 0xff00u) ^ 0xffffu);
  EXPECT_EQ(narrow("cnot.b32 %r, %x;", 0), 1u);
  EXPECT_EQ(half("not.b16 %k, %h;", 0x00ff), 0xff00);
}

TEST(PtxInstructions, floats_round_flush_and_saturate) {
  EXPECT_EQ(narrow("add.rn.f32 %r, %x, %y;", bitsOf(1.0f), bitsOf(0x1p-24f)), bitsOf(1.0f));
  EXPECT_EQ(narrow("add.rp.f32 %r, %x, %y;", bitsOf(1.0f), bitsOf(0x1p-24f)),
            bitsOf(0x1.000002p0f));
  EXPECT_EQ(narrow("sub.rz.f32 %r, %x, %y;", bitsOf(1.0f), bitsOf(0x1p-30f)),
            bitsOf(0x1.fffffep-1f));
  EXPECT_EQ(narrow("fma.rm.f32 %r, %x, %y, %z;", bitsOf(-1.0f), bitsOf(1.0f), bitsOf(-0x1p-30f)),
            bitsOf(-0x1.000002p0f));
  // One rounding: (1 + 2^-23)^2 - 1 - 2^-22 = 2^-46.
  EXPECT_EQ(narrow("fma.rn.f32 %r, %x, %x, %y;", bitsOf(0x1.000002p0f), bitsOf(-0x1.000004p0f)),
            bitsOf(0x1p-46f));
  EXPECT_EQ(narrow("mul.rn.f32 %r, %x, %y;", bitsOf(0x1p-100f), bitsOf(0x1p-40f)),
            bitsOf(0x1p-140f));
  EXPECT_EQ(narrow("mul.rn.ftz.f32 %r, %x, %y;", bitsOf(0x1p-100f), bitsOf(-0x1p-40f)), kMinusZero);
  EXPECT_EQ(narrow("add.rn.ftz.f32 %r, %x, %x;", bitsOf(0x1p-127f)), 0u);
  EXPECT_EQ(narrow("add.rn.sat.f32 %r, %x, %y;", bitsOf(1.0f), bitsOf(1.0f)), bitsOf(1.0f));
  EXPECT_EQ(narrow("add.rn.sat.f32 %r, %x, %y;", kNan, bitsOf(1.0f)), 0u);
  EXPECT_EQ(narrow("sub.rn.f32 %r, %x, %x;", kInfinity), kNan);
  EXPECT_EQ(narrow("min.f32 %r, %x, %y;", kNan, bitsOf(1.0f)), bitsOf(1.0f));
  EXPECT_EQ(narrow("min.NaN.f32 %r, %x, %y;", kNan, bitsOf(1.0f)), kNan);
  EXPECT_EQ(narrow("min.f32 %r, %x, %y;", 0, kMinusZero), kMinusZero);
  EXPECT_EQ(narrow("max.f32 %r, %x, %y;", kMinusZero, 0), 0u);
  EXPECT_EQ(narrow("copysign.f32 %r, %x, %y;", kMinusZero, bitsOf(2.0f)), bitsOf(-2.0f));
  EXPECT_EQ(narrow("rcp.rn.f32 %r, %x;", bitsOf(3.0f)), bitsOf(1.0f / 3.0f));
  EXPECT_EQ(narrow("rsqrt.approx.f32 %r, %x;", bitsOf(0.25f)), bitsOf(2.0f));
  EXPECT_EQ(narrow("ex2.approx.ftz.f32 %r, %x;", bitsOf(-3.0f)), bitsOf(0.125f));
  EXPECT_EQ(narrow("lg2.approx.f32 %r, %x;", bitsOf(8.0f)), bitsOf(3.0f));
  EXPECT_EQ(narrow("div.approx.f32 %r, %x, %y;", bitsOf(-6.0f), bitsOf(3.0f)), bitsOf(-2.0f));
  EXPECT_EQ(narrow("div.approx.f32 %r, %x, %y;", bitsOf(-0x1p127f), bitsOf(0x1p127f)), kMinusZero);
  EXPECT_EQ(narrow("div.approx.f32 %r, %x, %y;", kInfinity, bitsOf(0x1p127f)), kNan);
  // Nobody should rely on more than 11 bits.
  float tanh = std::bit_cast<float>(narrow("tanh.approx.f32 %r, %x;", bitsOf(0.3f)));
  EXPECT_NEAR(tanh, std::tanh(0.3), std::tanh(0.3) / 2048);
  EXPECT_NE(tanh, std::tanh(0.3f));
  EXPECT_EQ(wide("div.rn.f64 %d, %a, %b;", bitsOf(1.0), bitsOf(3.0)), bitsOf(1.0 / 3.0));
  EXPECT_EQ(wide("sqrt.rn.f64 %d, %a;", bitsOf(2.0)), bitsOf(std::sqrt(2.0)));
  constexpr uint64_t kOneNan = 0x7ff8000000000001, kOtherNan = 0xfff8000000000002;
  EXPECT_EQ(wide("add.rn.f64 %d, %a, %b;", kOneNan, kOtherNan),
            wide("add.rn.f64 %d, %a, %b;", kOtherNan, kOneNan));
  EXPECT_EQ(wide("rcp.approx.ftz.f64 %d, %a;", bitsOf(3.0)), 0x3fd5555500000000u);
}

TEST(PtxInstructions, halves_round_once) {
  EXPECT_EQ(half("add.rn.f16 %k, %h, %i;", 0x3c00, 0x1000), 0x3c00);  // 1 + 2^-11: to even
  EXPECT_EQ(half("add.rn.f16 %k, %h, %i;", 0x3c01, 0x1000), 0x3c02);
  EXPECT_EQ(half("mul.rn.f16 %k, %h, %i;", 0x7bff, 0x4000), 0x7c00);               // 65504 * 2
  EXPECT_EQ(half("fma.rn.bf16 %k, %h, %i, %j;", 0x3f81, 0x3f81, 0xbf82), 0x3880);  // 2^-14
  EXPECT_EQ(narrow("add.rn.f16x2 %r, %x, %y;", 0x3c004000, 0x3c003c00), 0x40004200u);
  EXPECT_EQ(narrow("fma.rn.bf16x2 %r, %x, %y, %z;", 0x3f804000, 0x40004000, 0x3f800000),
            0x40404080u);
  EXPECT_EQ(half("neg.f16 %k, %h;", 0x3c00), 0xbc00);
  EXPECT_EQ(half("max.NaN.f16 %k, %h, %i;", 0x7e00, 0x3c00), 0x7fff);
  EXPECT_EQ(half("min.bf16 %k, %h, %i;", 0x7fc0, 0x3f80), 0x3f80);
}

TEST(PtxInstructions, comparisons_know_unordered_numbers) {
  auto compare = [](const std::string& op, uint32_t x, uint32_t y) {
    return narrow("setp." + op + " %p, %x, %y; selp.b32 %r, 1, 0, %p;", x, y);
  };
  EXPECT_EQ(compare("lt.s32", uint32_t(-1), 0), 1u);
  EXPECT_EQ(compare("lt.u32", uint32_t(-1), 0), 0u);
  EXPECT_EQ(compare("hi.u32", uint32_t(-1), 0), 1u);
  for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge", "num"}) {
    EXPECT_EQ(compare(std::string(op) + ".f32", kNan, bitsOf(1.0f)), 0u) << op;
  }
  for (const char* op : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}) {
    EXPECT_EQ(compare(std::string(op) + ".f32", kNan, bitsOf(1.0f)), 1u) << op;
  }
  EXPECT_EQ(compare("eq.f32", kMinusZero, 0), 1u);
  std::string both =
      "setp.lt.s32 %q, %x, 5; setp.lt.and.s32 %p|%q, %y, 5, !%q; "
      "selp.b32 %r, 1, 0, %p; @%q add.s32 %r, %r, 2;";
  EXPECT_EQ(narrow(both, 9, 1), 1u);
  EXPECT_EQ(narrow(both, 9, 7), 2u);
  EXPECT_EQ(narrow(both, 1, 1), 0u);
  EXPECT_EQ(narrow("set.gt.u32.f32 %r, %x, %y;", bitsOf(2.0f), bitsOf(1.0f)), 0xffffffffu);
  EXPECT_EQ(narrow("testp.subnormal.f32 %p, %x; selp.b32 %r, 1, 0, %p;", 1), 1u);
}

TEST(PtxInstructions, conversions_clamp_and_round) {
  auto toInteger = [](const std::string& types, float x) {
    return narrow("cvt." + types + " %r, %x;", bitsOf(x));
  };
  EXPECT_EQ(toInteger("rzi.s32.f32", -1.9f), uint32_t(-1));
  EXPECT_EQ(toInteger("rni.s32.f32", 2.5f), 2u);
  EXPECT_EQ(toInteger("rmi.s32.f32", -1.1f), uint32_t(-2));
  EXPECT_EQ(toInteger("rpi.s32.f32", 1.1f), 2u);
  EXPECT_EQ(toInteger("rzi.s32.f32", 1e20f), 0x7fffffffu);
  EXPECT_EQ(toInteger("rzi.u32.f32", -1.0f), 0u);
  EXPECT_EQ(narrow("cvt.rzi.s32.f32 %r, %x;", kNan), 0u);
  EXPECT_EQ(wide("cvt.rzi.s64.f32 %d, %x;", kNan), uint64_t{1} << 63);
  EXPECT_EQ(narrow("cvt.rzi.u32.f64 %r, %a;", 0), 0u);
  EXPECT_EQ(narrow("cvt.rn.f32.s32 %r, %x;", 0x1000001), bitsOf(16777216.0f));
  EXPECT_EQ(narrow("cvt.rp.f32.s32 %r, %x;", 0x1000001), bitsOf(16777218.0f));
  EXPECT_EQ(narrow("cvt.rz.f32.f64 %r, %a;", 0), 0u);
  EXPECT_EQ(wide("cvt.rz.f32.f64 %r, %a; cvt.u64.u32 %d, %r;", bitsOf(0x1.0000039p0)),
            bitsOf(0x1.000002p0f));
  EXPECT_EQ(narrow("cvt.sat.s8.s32 %r, %x;", 300), 127u);
  EXPECT_EQ(narrow("cvt.s32.s8 %r, %x;", 0x180), 0xffffff80u);
  EXPECT_EQ(narrow("cvt.u32.u8 %r, %x;", 0x180), 0x80u);
  EXPECT_EQ(half("cvt.rn.f16.f32 %k, %x;", 0), 0);
  EXPECT_EQ(narrow("cvt.rn.f16x2.f32 %r, %x, %y;", bitsOf(1.0f), bitsOf(65520.0f)), 0x3c007c00u);
  EXPECT_EQ(narrow("cvt.rn.satfinite.f16x2.f32 %r, %x, %y;", bitsOf(1.0f), bitsOf(65520.0f)),
            0x3c007bffu);
  EXPECT_EQ(narrow("cvt.rn.bf16.f32 %k, %x; cvt.u32.u16 %r, %k;", 0x3f808000), 0x3f80u);
  EXPECT_EQ(narrow("cvt.rn.bf16.f32 %k, %x; cvt.u32.u16 %r, %k;", 0x3f818000), 0x3f82u);
  EXPECT_EQ(narrow("cvt.rna.tf32.f32 %r, %x;", 0x3f801000), 0x3f802000u);
  EXPECT_EQ(narrow("cvt.rn.satfinite.e4m3x2.f32 %k, %x, %y; cvt.u32.u16 %r, %k;", bitsOf(1000.0f),
                   bitsOf(1.0f)),
            0x7e38u);
  EXPECT_EQ(narrow("cvt.u16.u32 %k, %x; cvt.rn.f16x2.e5m2x2 %r, %k;", 0x3c40), 0x3c004000u);
  EXPECT_EQ(narrow("cvt.rni.f32.f32 %r, %x;", bitsOf(-0.3f)), kMinusZero);
  EXPECT_EQ(narrow("cvt.f32.f16 %r, %h;", 0x0001), bitsOf(0x1p-24f));
}

TEST(PtxInstructions, registers_are_packed_the_lowest_first) {
  EXPECT_EQ(wide("mov.b64 %d, {%x, %y};", 1, 2), 0x200000001u);
  EXPECT_EQ(narrow("mov.b64 {%u, %r}, %a;", 7), 0u);
  EXPECT_EQ(wide("mov.b64 {%h, %i, %j, %k}, %a; mov.b64 %d, {%k, %j, %i, %h};", 0x4444333322221111),
            0x1111222233334444u);
  EXPECT_EQ(narrow("mov.b32 {_, %k}, %x; cvt.u32.u16 %r, %k;", 0xabcd1234), 0xabcdu);
}

TEST(PtxInstructions, what_is_not_known_is_named) {
  std::string text = kernelOf("wgmma.fence.sync.aligned;", "%d");
  EXPECT_THAT(errorOf(text), testing::HasSubstr("unknown instruction: wgmma.fence.sync.aligned"));
  EXPECT_THAT(errorOf(kernelOf("add.rn.strange.f32 %r, %x, %y;", "%r")),
              testing::HasSubstr("unknown instruction: add.rn.strange.f32"));
  // Narrowing must say how.
  EXPECT_THAT(errorOf(kernelOf("cvt.f16.f32 %k, %x;", "%k")),
              testing::HasSubstr("unknown instruction"));
  EXPECT_THAT(errorOf(kernelOf("bra nowhere;", "%d")),
              testing::HasSubstr("there is no label nowhere"));
  EXPECT_THAT(errorOf(kernelOf("mov.b32 %nobody, %x;", "%d")), testing::HasSubstr("unknown"));
}

}  // namespace
}  // namespace isthmus::ptx
