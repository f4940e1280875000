#include "backends/cuda/kernels/tensor_ops.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace isthmus::cuda {
namespace {

using Builder = TensorOps::Builder;
using Four = std::array<llvm::Value*, 4>;

Four unpack(Builder& b, llvm::Value* result) {
  Four values;
  for (unsigned i = 0; i < 4; ++i) values[i] = b.CreateExtractValue(result, i);
  return values;
}

Four loadMatrices(Builder& b, llvm::Value* address, bool transposed) {
  llvm::Intrinsic::ID id = transposed
                               ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                               : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  return unpack(b, b.CreateIntrinsic(id, {address->getType()}, {address}));
}

Four multiply(Builder& b, TensorType type, const Four& a, const std::array<llvm::Value*, 2>& x,
              const Four& c) {
  // Two halves in a register have a type of their own; pairs of bf16 are plain integers.
  auto halves = [&](llvm::Value* value) {
    return b.CreateBitCast(value, llvm::FixedVectorType::get(b.getHalfTy(), 2));
  };
  llvm::SmallVector<llvm::Value*, 10> arguments;
  for (llvm::Value* value : a) {
    arguments.push_back(type == TensorType::kF16 ? halves(value) : value);
  }
  for (llvm::Value* value : x) {
    arguments.push_back(type == TensorType::kF16 ? halves(value) : value);
  }
  arguments.append(c.begin(), c.end());
  switch (type) {
    case TensorType::kBf16:
      return unpack(
          b, b.CreateIntrinsic(llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16, {}, arguments));
    case TensorType::kF16:
      return unpack(
          b, b.CreateIntrinsic(llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, {}, arguments));
    case TensorType::kS8:
      return unpack(
          b, b.CreateIntrinsic(llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8, {}, arguments));
  }
  return c;
}

}  // namespace

TensorOps nvvmTensorOps() {
  TensorOps ops;
  ops.loadMatrices = loadMatrices;
  ops.multiply = multiply;
  ops.copyAsync = [](Builder& b, llvm::Value* to, llvm::Value* from, llvm::Value* bytes) {
    b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s,
                      {to, from, bytes});
  };
  ops.endBatch = [](Builder& b) {
    b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_commit_group, {});
  };
  ops.waitForBatches = [](Builder& b, unsigned batches) {
    b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_wait_group,
                      {b.getInt32(batches)});
  };
  auto read = [](llvm::Intrinsic::ID id) {
    return [id](Builder& b) -> llvm::Value* { return b.CreateIntrinsic(b.getInt32Ty(), id, {}); };
  };
  ops.groupIndex = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  ops.threadInGroup = read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  ops.barrier = [](Builder& b) {
    b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                      {b.getInt32(0)});
  };
  return ops;
}

}  // namespace isthmus::cuda
