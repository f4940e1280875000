// What threads do together, and what they must not do: memory, warps, blocks, matrices.
#include "backends/cuda/driver/fake/ptx/testing.h"

namespace isthmus::ptx {
namespace {

using testing::HasSubstr;

std::vector<Inputs> lanesOf(size_t count, auto a) {
  std::vector<Inputs> inputs(count);
  for (size_t n = 0; n < count; ++n) inputs[n].a = static_cast<uint64_t>(a(n));
  return inputs;
}

// What every thread of one block leaves in %r, if %x is its number.
std::vector<uint64_t> ofThreads(const std::string& body, size_t threads = 32) {
  return computeAll(body, "%r", lanesOf(threads, [](size_t n) { return n; }));
}

Fault faultOf(const std::string& body, unsigned threads = 32) {
  std::unique_ptr<Program> program = parsed(kernelOf(body, "%d"));
  std::vector<char> in(threads * sizeof(Inputs)), out(threads * 8);
  if (!program) return {};
  return launch(*program, "kernel", 1, threads, {&in, &out});
}

TEST(PtxThreads, branches_part_and_meet_again) {
  auto results = ofThreads(R"(
    mov.b32 %r, 0;
    mov.b32 %u, %x;
  again:
    setp.eq.u32 %p, %u, 0;
    @%p bra done;
    add.u32 %r, %r, %u;
    sub.u32 %u, %u, 1;
    bra.uni again;
  done:
    add.u32 %r, %r, 1;)");
  for (uint64_t n = 0; n < 32; ++n) EXPECT_EQ(results[n], n * (n + 1) / 2 + 1);
}

TEST(PtxThreads, tables_of_targets) {
  auto results = ofThreads(R"(
    and.b32 %u, %x, 1;
    table: .branchtargets even, odd;
    brx.idx %u, table;
  even:
    mov.b32 %r, 100; bra.uni done;
  odd:
    mov.b32 %r, 200;
  done:)");
  EXPECT_EQ(results[4], 100u);
  EXPECT_EQ(results[5], 200u);
}

TEST(PtxThreads, functions_have_memory_of_their_own) {
  std::string function = R"(
.func (.param .b32 result) twice(.param .b32 value)
{
  .local .align 8 .b8 place[8];
  .reg .b32 %v; .reg .b64 %l;
  mov.b64 %l, place;
  ld.param.b32 %v, [value];
  st.local.b32 [%l+4], %v;
  ld.local.b32 %v, [%l+4];
  shl.b32 %v, %v, 1;
  st.param.b32 [result], %v;
  ret;
}
)";
  std::string body = R"(
    setp.gt.u32 %p, %x, 3;
    mov.b32 %r, %x;
    @!%p bra done;
    { .param .b32 p0; .param .b32 r0;
      st.param.b32 [p0], %x;
      call.uni (r0), twice, (p0);
      ld.param.b32 %r, [r0]; }
  done:)";
  std::unique_ptr<Program> program = parsed(function + kernelOf(body, "%r"));
  ASSERT_TRUE(program);
  std::vector<char> in(32 * sizeof(Inputs)), out(32 * 8);
  for (size_t n = 0; n < 32; ++n) in[n * sizeof(Inputs)] = static_cast<char>(n);
  EXPECT_EQ(launch(*program, "kernel", 1, 32, {&in, &out}).text, "");
  for (size_t n = 0; n < 32; ++n) {
    EXPECT_EQ(out[n * 8], static_cast<char>(n > 3 ? 2 * n : n));
  }
}

TEST(PtxThreads, shuffles_as_the_manual_has_them) {
  auto at = [](const std::string& mode, size_t lane) {
    return ofThreads("shfl.sync." + mode + ", 0xffffffff; @!%p add.u32 %r, %r, 1000;")[lane];
  };
  EXPECT_EQ(at("bfly.b32 %r|%p, %x, 5, 31", 9), 9u ^ 5u);
  EXPECT_EQ(at("up.b32 %r|%p, %x, 3, 0", 5), 2u);
  EXPECT_EQ(at("up.b32 %r|%p, %x, 3, 0", 2), 1002u);
  EXPECT_EQ(at("down.b32 %r|%p, %x, 3, 31", 28), 31u);
  EXPECT_EQ(at("down.b32 %r|%p, %x, 3, 31", 29), 1029u);
  EXPECT_EQ(at("idx.b32 %r|%p, %x, 7, 31", 20), 7u);
  // Segments of 8 lanes: c is 0x1800 and the limit.
  EXPECT_EQ(at("idx.b32 %r|%p, %x, 2, 0x181f", 20), 18u);
  EXPECT_EQ(at("down.b32 %r|%p, %x, 3, 0x1807", 14), 1014u);
  EXPECT_EQ(at("up.b32 %r|%p, %x, 3, 0x1800", 18), 1018u);
}

TEST(PtxThreads, votes_and_reductions_of_a_warp) {
  EXPECT_EQ(ofThreads("setp.lt.u32 %p, %x, 4; vote.sync.ballot.b32 %r, %p, 0xffffffff;")[9], 15u);
  EXPECT_EQ(
      ofThreads(
          "setp.lt.u32 %p, %x, 4; vote.sync.all.pred %q, !%p, 0xffffffff; selp.b32 %r, 1, 0, %q;")
          [9],
      0u);
  EXPECT_EQ(ofThreads("redux.sync.add.s32 %r, %x, 0xffffffff;")[3], 31u * 16u);
  EXPECT_EQ(ofThreads("and.b32 %u, %x, 3; match.any.sync.b32 %r, %u, 0xffffffff;")[1], 0x22222222u);
}

TEST(PtxThreads, lanes_that_parted_exchange_among_themselves) {
  auto results = ofThreads(R"(
    setp.lt.u32 %p, %x, 16;
    @%p bra low;
    shfl.sync.bfly.b32 %r, %x, 1, 31, 0xffff0000;
    bra.uni done;
  low:
    shfl.sync.bfly.b32 %r, %x, 2, 31, 0x0000ffff;
  done:)");
  EXPECT_EQ(results[20], 21u);
  EXPECT_EQ(results[4], 6u);
}

constexpr const char* kThroughShared = R"(
    .shared .align 4 .b8 place[1024];
    mov.b32 %u, place;
    mad.lo.u32 %v, %t, 4, %u;
    st.shared.b32 [%v], %x;
    %BARRIER
    xor.b32 %v, %t, 32;
    mad.lo.u32 %v, %v, 4, %u;
    ld.shared.b32 %r, [%v];)";

std::string throughShared(const std::string& barrier) {
  std::string body = kThroughShared;
  return body.replace(body.find("%BARRIER"), 8, barrier);
}

TEST(PtxThreads, blocks_share_memory_across_barriers) {
  auto results = ofThreads(throughShared("bar.sync 0;"), 128);
  for (uint64_t n = 0; n < 128; ++n) EXPECT_EQ(results[n], n ^ 32);
}

TEST(PtxThreads, a_missing_barrier_is_a_race) {
  Fault fault = faultOf(throughShared("") + "cvt.u64.u32 %d, %r;", 128);
  EXPECT_EQ(fault.code, Fault::Code::kRace);
  EXPECT_THAT(fault.text, HasSubstr("nothing orders the two"));
  // Within a warp, bar.warp.sync orders, and an exchange does not.
  std::string inWarp = R"(
    .shared .align 4 .b8 place[128];
    mov.b32 %u, place;
    mad.lo.u32 %v, %t, 4, %u;
    st.shared.b32 [%v], %x;
    %BARRIER
    xor.b32 %v, %t, 1;
    mad.lo.u32 %v, %v, 4, %u;
    ld.shared.b32 %r, [%v];
    mov.b64 %d, 0;)";
  auto with = [&](const std::string& barrier) {
    std::string body = inWarp;
    return faultOf(body.replace(body.find("%BARRIER"), 8, barrier)).code;
  };
  EXPECT_EQ(with("bar.warp.sync 0xffffffff;"), Fault::Code::kNone);
  std::string exchange = "shfl.sync.bfly.b32 %r, %x, 1, 31, 0xffffffff;";
  EXPECT_EQ(with(exchange), Fault::Code::kRace);
  // What was read before it was there before.
  EXPECT_EQ(
      faultOf("mul.wide.u32 %w, %t, 24; sub.s64 %w, %in, %w; ld.global.b64 %a, "
              "[%w];" +
                  exchange + "setp.eq.u32 %p, %t, 0; @%p st.global.b64 [%w], 5; mov.b64 %d, 0;",
              2)
          .code,
      Fault::Code::kNone);
}

TEST(PtxThreads, nothing_orders_blocks) {
  std::unique_ptr<Program> program = parsed(R"(
.visible .entry kernel(.param .u64 array)
{
  .reg .b64 %a, %w; .reg .b32 %t, %c, %n, %v; .reg .pred %p;
  ld.param.u64 %a, [array];
  mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, %n, %t;
  mul.wide.u32 %w, %t, 4;
  add.s64 %a, %a, %w;
  ld.global.b32 %v, [%a];
  bar.sync 0;
  st.global.b32 [%a], %t;
  bar.sync 0;
  setp.eq.u32 %p, %t, 31;
  @%p ld.global.b32 %v, [%a+4];
  ret;
})");
  ASSERT_TRUE(program);
  std::vector<char> array(64 * 4);
  EXPECT_EQ(launch(*program, "kernel", 1, 64, {&array}).text, "");
  Fault fault = launch(*program, "kernel", 2, 32, {&array});
  EXPECT_EQ(fault.code, Fault::Code::kRace);
  EXPECT_THAT(fault.text, HasSubstr("block 1, thread 0, line"));
  EXPECT_THAT(fault.text, HasSubstr("block 0, thread 31 read these 4 bytes"));
}

TEST(PtxThreads, what_is_read_as_constant_is_not_written) {
  EXPECT_EQ(faultOf("ld.global.nc.b64 %d, [%out];").code, Fault::Code::kRace);
  EXPECT_EQ(faultOf("ld.global.b64 %d, [%out];").code, Fault::Code::kNone);
  // Each writes a byte of its own.
  EXPECT_EQ(
      faultOf("cvt.u64.u32 %w, %t; sub.s64 %w, %in, %w; st.global.b8 [%w], %t; mov.b64 %d, 0;", 1)
          .code,
      Fault::Code::kNone);
}

TEST(PtxThreads, a_barrier_that_some_do_not_reach_is_no_hang) {
  Fault fault =
      faultOf("setp.lt.u32 %p, %t, 40; @%p bar.sync 1; @!%p bar.sync 2; mov.b64 %d, 0;", 64);
  EXPECT_EQ(fault.code, Fault::Code::kStuck);
  EXPECT_THAT(fault.text, HasSubstr("other threads wait at another barrier"));
  EXPECT_EQ(faultOf("shfl.sync.bfly.b32 %r, %x, 1, 31, 0xffff0000; mov.b64 %d, 0;").code,
            Fault::Code::kStuck);
  fault = faultOf(R"(setp.lt.u32 %p, %t, 4; @%p bra low; bar.sync 0; bra.uni done;
                     low: shfl.sync.bfly.b32 %r, %x, 1, 31, 0xffffffff; done: mov.b64 %d, 0;)");
  EXPECT_EQ(fault.code, Fault::Code::kStuck);
  EXPECT_THAT(fault.text, HasSubstr("kernel kernel, block 0, thread 0, line"));
}

TEST(PtxThreads, addresses_are_checked) {
  Fault fault = faultOf("ld.global.b32 %r, [%in+768]; mov.b64 %d, 0;");
  EXPECT_EQ(fault.code, Fault::Code::kIllegalAddress);
  EXPECT_THAT(fault.text, HasSubstr("ld.global.b32 %r, [%in+768]"));
  EXPECT_EQ(faultOf("ld.global.b32 %r, [%in+2]; mov.b64 %d, 0;").code, Fault::Code::kMisaligned);
  EXPECT_EQ(faultOf("ld.global.v4.b32 {%r, %u, %v, %z}, [%in+8]; mov.b64 %d, 0;").code,
            Fault::Code::kMisaligned);
  EXPECT_EQ(
      faultOf(".shared .b8 place[16]; mov.b32 %u, place; st.shared.b32 [%u+16], %u; mov.b64 %d, 0;")
          .code,
      Fault::Code::kIllegalAddress);
  EXPECT_EQ(faultOf("trap; mov.b64 %d, 0;").code, Fault::Code::kTrap);
}

TEST(PtxThreads, launches_are_checked) {
  std::string text = kernelOf("mov.b64 %d, 0;", "%d");
  text.replace(text.find(")\n{"), 3, ") .reqntid 64, 1, 1 {");
  std::unique_ptr<Program> program = parsed(text);
  ASSERT_TRUE(program);
  std::vector<char> in(64 * sizeof(Inputs)), out(64 * 8);
  EXPECT_EQ(launch(*program, "kernel", 1, 64, {&in, &out}).code, Fault::Code::kNone);
  EXPECT_EQ(launch(*program, "kernel", 1, 32, {&in, &out}).code, Fault::Code::kLaunch);
  EXPECT_EQ(faultOf(".shared .b8 place[49153]; mov.b32 %u, place; mov.b64 %d, 0;").code,
            Fault::Code::kLaunch);
}

TEST(PtxThreads, atomics_see_each_other) {
  std::string body = R"(
    .shared .align 4 .b8 sum[4];
    mov.b32 %u, sum;
    st.shared.b32 [%u], 0;
    bar.sync 0;
    atom.shared.add.u32 %v, [%u], %x;
    bar.sync 0;
    ld.shared.b32 %r, [%u];)";
  for (uint64_t sum : ofThreads(body, 64)) EXPECT_EQ(sum, 63u * 32u);
  // The others' 8 bytes behind the inputs are the place: each kind once.
  auto once = [](const std::string& op, uint64_t old, uint64_t b, const std::string& more = "") {
    return wide("atom.global." + op + " %d, [%in], %b" + more + "; ld.global.b64 %d, [%in];", old,
                b);
  };
  EXPECT_EQ(once("min.s32", 5, uint32_t(-3)), uint32_t(-3));
  EXPECT_EQ(once("max.u64", 5, 9), 9u);
  EXPECT_EQ(once("exch.b64", 5, 9), 9u);
  EXPECT_EQ(once("cas.b32", 5, 5, ", 77"), 77u);
  EXPECT_EQ(once("cas.b32", 6, 5, ", 77"), 6u);
  EXPECT_EQ(once("inc.u32", 5, 5), 0u);
  EXPECT_EQ(once("dec.u32", 0, 5), 5u);
  EXPECT_EQ(once("add.f32", bitsOf(1.5f), bitsOf(2.0f)), bitsOf(3.5f));
  EXPECT_EQ(once("add.noftz.f16x2", 0x3c003c00, 0x3c004000), 0x40004200u);
  // Each neighbour by itself.
  uint64_t pair = uint64_t{bitsOf(1.5f)} << 32 | bitsOf(2.0f);
  EXPECT_EQ(wide("mov.b64 {%r, %u}, %b; red.relaxed.gpu.global.add.v2.f32 [%in], {%r, %u}; "
                 "ld.global.b64 %d, [%in];",
                 pair, uint64_t{bitsOf(0.5f)} << 32 | bitsOf(1.0f)),
            uint64_t{bitsOf(2.0f)} << 32 | bitsOf(3.0f));
}

TEST(PtxThreads, copies_are_there_after_the_wait_alone) {
  std::string body = R"(
    .shared .align 16 .b8 place[1024];
    mov.b32 %u, place;
    mad.lo.u32 %v, %t, 16, %u;
    mul.wide.u32 %w, %t, 8;
    sub.s64 %w, %in, %w;
    cp.async.cg.shared.global [%v], [%w], 16, 8;
    cp.async.commit_group;
    %WAIT
    ld.shared.b32 %r, [%v+8];
    ld.shared.b32 %u, [%v];
    add.u32 %r, %r, %u;)";
  auto run = [&](const std::string& wait) {
    std::string text = body;
    text.replace(text.find("%WAIT"), 5, wait);
    // 16 bytes apart, of an array that is aligned to as many.
    std::vector<Inputs> inputs(64);
    for (uint64_t n = 0; n < inputs.size(); ++n) inputs[n] = {n, n, n};
    return computeAll(text, "%r", inputs);
  };
  auto done = run("cp.async.wait_group 0;");
  for (uint64_t n = 0; n < 32; ++n) EXPECT_EQ(done[n], 16 * n / 24) << n;
  // All ones, twice.
  EXPECT_EQ(run("cp.async.wait_group 1;")[3], 0xfffffffeu);
}

// One matrix, of f16 or s8 in rows, and where the manual says that elements are.
struct Fragment {
  int row, column;
};
Fragment a16(int lane, int i) {  // m16n8k16: a0 to a7
  int group = lane >> 2, inGroup = lane % 4;
  return {(0 <= i && i < 2) || (4 <= i && i < 6) ? group : group + 8,
          i < 4 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8};
}
Fragment b16(int lane, int i) {  // b0 to b3
  return {i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8, lane >> 2};
}
Fragment c16(int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}

// Runs `mma` with the registers that `a`, `b` and `c` say for (register, lane); the sums as bits.
std::vector<std::array<uint32_t, 4>> multiply(const std::string& mma, auto a, auto b, auto c) {
  std::string text = R"(
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .b32 %a<4>, %b<2>, %c<4>, %t; .reg .b64 %in, %out;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mad.wide.u32 %in, %t, 48, %in; mad.wide.u32 %out, %t, 16, %out;
  ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%in];
  ld.global.v2.b32 {%b0, %b1}, [%in+16];
  ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%in+32];
  )" + mma + R"(;
  st.global.v4.b32 [%out], {%c0, %c1, %c2, %c3};
  ret;
})";
  std::unique_ptr<Program> program = parsed(text);
  std::vector<char> in(32 * 48), out(32 * 16);
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t registers[12] = {};
    for (int r = 0; r < 4; ++r) {
      registers[r] = a(r, lane);
      registers[8 + r] = c(r, lane);
      if (r < 2) registers[4 + r] = b(r, lane);
    }
    std::memcpy(in.data() + lane * 48, registers, 48);
  }
  if (program) {
    EXPECT_EQ(launch(*program, "kernel", 1, 32, {&in, &out}).text, "");
  }
  std::vector<std::array<uint32_t, 4>> result(32);
  std::memcpy(result.data(), out.data(), out.size());
  return result;
}

int valueA(int row, int column) { return (row * 7 + column * 3) % 11 - 5; }
int valueB(int row, int column) { return (row * 5 + column * 2) % 13 - 6; }

uint32_t bf16(int value) { return bitsOf(static_cast<float>(value)) >> 16; }

TEST(PtxThreads, matrices_of_bf16) {
  auto pair = [](auto place, auto value, int r, int lane) {
    Fragment low = place(lane, 2 * r), high = place(lane, 2 * r + 1);
    return bf16(value(low.row, low.column)) | bf16(value(high.row, high.column)) << 16;
  };
  auto result = multiply(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, "
      "{%b0,%b1}, "
      "{%c0,%c1,%c2,%c3}",
      [&](int r, int lane) { return pair(a16, valueA, r, lane); },
      [&](int r, int lane) { return pair(b16, valueB, r, lane); },
      [](int r, int lane) { return bitsOf(static_cast<float>(r + lane)); });
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      Fragment at = c16(lane, r);
      int sum = r + lane;
      for (int k = 0; k < 16; ++k) sum += valueA(at.row, k) * valueB(k, at.column);
      EXPECT_EQ(result[static_cast<size_t>(lane)][static_cast<size_t>(r)],
                bitsOf(static_cast<float>(sum)));
    }
  }
}

TEST(PtxThreads, matrices_of_tf32) {
  auto result = multiply(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, "
      "{%b0,%b1}, "
      "{%c0,%c1,%c2,%c3}",
      [](int r, int lane) {
        int row = r == 0 || r == 2 ? lane >> 2 : (lane >> 2) + 8;
        return bitsOf(static_cast<float>(valueA(row, r < 2 ? lane % 4 : lane % 4 + 4)));
      },
      [](int r, int lane) {
        return bitsOf(static_cast<float>(valueB(r == 0 ? lane % 4 : lane % 4 + 4, lane >> 2)));
      },
      [](int, int) { return 0u; });
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      Fragment at = c16(lane, r);
      int sum = 0;
      for (int k = 0; k < 8; ++k) sum += valueA(at.row, k) * valueB(k, at.column);
      EXPECT_EQ(result[static_cast<size_t>(lane)][static_cast<size_t>(r)],
                bitsOf(static_cast<float>(sum)));
    }
  }
}

TEST(PtxThreads, matrices_of_bytes) {
  auto result = multiply(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, "
      "{%b0,%b1}, "
      "{%c0,%c1,%c2,%c3}",
      [](int r, int lane) {
        uint32_t bits = 0;
        for (int i = 4 * r; i < 4 * r + 4; ++i) {
          int row = (0 <= i && i < 4) || (8 <= i && i < 12) ? lane >> 2 : (lane >> 2) + 8;
          int column = i < 8 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16;
          bits |= static_cast<uint32_t>(valueA(row, column) & 0xff) << (8 * (i & 3));
        }
        return bits;
      },
      [](int r, int lane) {
        uint32_t bits = 0;
        for (int i = 4 * r; i < 4 * r + 4; ++i) {
          int row = i < 4 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16;
          bits |= static_cast<uint32_t>(valueB(row, lane >> 2) & 0xff) << (8 * (i & 3));
        }
        return bits;
      },
      [](int, int) { return 1u; });
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      Fragment at = c16(lane, r);
      int sum = 1;
      for (int k = 0; k < 32; ++k) sum += valueA(at.row, k) * valueB(k, at.column);
      EXPECT_EQ(result[static_cast<size_t>(lane)][static_cast<size_t>(r)],
                static_cast<uint32_t>(sum));
    }
  }
}

TEST(PtxThreads, matrices_are_loaded_by_rows_or_transposed) {
  std::string body = R"(
    .shared .align 16 .b8 place[512];
    mov.b32 %u, place;
    mad.lo.u32 %v, %t, 16, %u;
    shl.b32 %z, %t, 3;
    st.shared.b16 [%v], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+2], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+4], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+6], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+8], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+10], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+12], %z; add.u32 %z, %z, 1;
    st.shared.b16 [%v+14], %z;
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4%TRANS.shared.b16 {%u, %x, %y, %r}, [%v];)";
  auto run = [&](const std::string& how) {
    std::string text = body;
    return ofThreads(text.replace(text.find("%TRANS"), 6, how));
  };
  // The last of four matrices has the values 192 to 255; elements 2 and 3 of row 1 are lane 5's.
  EXPECT_EQ(run("")[5], (192u + 8 + 2) | (192u + 8 + 3) << 16);
  EXPECT_EQ(run(".trans")[5], (192u + 2 * 8 + 1) | (192u + 3 * 8 + 1) << 16);
}

}  // namespace
}  // namespace isthmus::ptx
