// PJRT_AsyncHostToDeviceTransferManager as callers use it who are wrong: errors, and buffers that
// get their end all the same.
#include <climits>
#include <utility>

#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

constexpr int kNumBuffers = 2;
constexpr int64_t kBytes = 16;

class TransferManagerTest : public CApiTest {
 protected:
  void SetUp() override {
    CApiTest::SetUp();
    const int64_t dim = 4;
    PJRT_ShapeSpec specs[kNumBuffers] = {make<PJRT_ShapeSpec>(), make<PJRT_ShapeSpec>()};
    for (auto& spec : specs) {
      spec.dims = &dim;
      spec.num_dims = 1;
      spec.element_type = PJRT_Buffer_Type_F32;
    }
    auto args = make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    args.client = client_;
    args.shape_specs = specs;
    args.num_shape_specs = kNumBuffers;
    args.memory = memory("device");
    ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateBuffersForAsyncHostToDevice, args));
    manager_ = args.transfer_manager;
  }
  void TearDown() override {
    destroyManager();
    CApiTest::TearDown();
  }

  void destroyManager() {
    if (manager_ == nullptr) return;
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    args.transfer_manager = std::exchange(manager_, nullptr);
    EXPECT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_Destroy, args));
  }
  Outcome transfer(int index, const void* data, int64_t offset, int64_t bytes, bool isLast) {
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    args.transfer_manager = manager_;
    args.buffer_index = index;
    args.data = data;
    args.offset = offset;
    args.transfer_size = bytes;
    args.is_last_transfer = isLast;
    Outcome outcome = call(api_.PJRT_AsyncHostToDeviceTransferManager_TransferData, args);
    EXPECT_EQ(outcome.ok(), args.done_with_h2d_transfer != nullptr);
    return outcome.ok() ? finish(args.done_with_h2d_transfer) : outcome;
  }
  Outcome setError(int index, PJRT_Error_Code code = PJRT_Error_Code_ABORTED) {
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
    args.transfer_manager = manager_;
    args.buffer_index = index;
    args.error_code = code;
    args.error_message = "lost";
    args.error_message_size = 4;
    return call(api_.PJRT_AsyncHostToDeviceTransferManager_SetBufferError, args);
  }
  PJRT_Buffer* retrieve(int index) {
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    args.transfer_manager = manager_;
    args.buffer_index = index;
    lastError_ = call(api_.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, args);
    EXPECT_EQ(lastError_.ok(), args.buffer_out != nullptr);
    return args.buffer_out;
  }

  PJRT_AsyncHostToDeviceTransferManager* manager_ = nullptr;
  const float data_[4] = {1, 2, 3, 4};
};

TEST_F(TransferManagerTest, RefusesBuffersThatItDoesNotHave) {
  for (int index : {-1, kNumBuffers, INT32_MAX, INT32_MIN}) {
    EXPECT_FALSE(transfer(index, data_, 0, kBytes, true).ok()) << index;
    EXPECT_FALSE(setError(index).ok()) << index;
    EXPECT_EQ(retrieve(index), nullptr) << index;
    auto size = make<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>();
    size.transfer_manager = manager_;
    size.buffer_index = index;
    EXPECT_FALSE(call(api_.PJRT_AsyncHostToDeviceTransferManager_BufferSize, size).ok()) << index;
    auto literal = make<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
    literal.transfer_manager = manager_;
    literal.buffer_index = index;
    literal.data = data_;
    const int64_t dim = 4;
    literal.shape_dims = &dim;
    literal.shape_num_dims = 1;
    literal.shape_element_type = PJRT_Buffer_Type_F32;
    EXPECT_FALSE(call(api_.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, literal).ok());
  }
}

TEST_F(TransferManagerTest, RefusesPiecesThatDoNotFit) {
  PJRT_Buffer* buffer = retrieve(0);
  for (auto [offset, bytes] : {std::pair<int64_t, int64_t>{0, kBytes + 1},
                               {kBytes, 1},
                               {-1, 4},
                               {4, -1},
                               {INT64_MAX, INT64_MAX},
                               {INT64_MIN, 4},
                               {1, INT64_MAX}}) {
    EXPECT_EQ(transfer(0, data_, offset, bytes, true).code, PJRT_Error_Code_INVALID_ARGUMENT)
        << offset << " " << bytes;
  }
  EXPECT_FALSE(transfer(0, nullptr, 0, 4, false).ok());
  // None of them counted as the last one.
  EXPECT_PJRT_OK(transfer(0, data_, 0, kBytes, false));
  EXPECT_PJRT_OK(transfer(0, nullptr, kBytes, 0, true));
  EXPECT_EQ(toHost(buffer), std::vector<float>(data_, data_ + 4));
  destroy(buffer);
}

TEST_F(TransferManagerTest, ABufferIsCompletedOnce) {
  PJRT_Buffer* buffer = retrieve(0);
  EXPECT_PJRT_OK(transfer(0, data_, 0, kBytes, true));
  EXPECT_FALSE(transfer(0, data_, 0, kBytes, true).ok());
  EXPECT_FALSE(transfer(0, data_, 0, 4, false).ok());
  EXPECT_FALSE(setError(0).ok());
  EXPECT_EQ(retrieve(0), nullptr);
  EXPECT_EQ(toHost(buffer), std::vector<float>(data_, data_ + 4));
  destroy(buffer);
}

TEST_F(TransferManagerTest, TheFirstErrorStays) {
  PJRT_Buffer* buffer = retrieve(1);
  EXPECT_FALSE(setError(1, PJRT_Error_Code_OK).ok());
  EXPECT_PJRT_OK(setError(1));
  EXPECT_FALSE(setError(1, PJRT_Error_Code_INTERNAL).ok());
  EXPECT_FALSE(transfer(1, data_, 0, kBytes, true).ok());
  EXPECT_EQ(awaitReady(buffer).code, PJRT_Error_Code_ABORTED);
  destroy(buffer);
}

TEST_F(TransferManagerTest, DestroyedInTheMiddleItCancelsWhatIsMissing) {
  PJRT_Buffer* begun = retrieve(0);
  PJRT_Buffer* untouched = retrieve(1);
  EXPECT_PJRT_OK(transfer(0, data_, 0, 8, false));
  destroyManager();
  for (PJRT_Buffer* buffer : {begun, untouched}) {
    EXPECT_EQ(awaitReady(buffer).code, PJRT_Error_Code_CANCELLED);
    destroy(buffer);
  }
}

TEST_F(TransferManagerTest, TakesPiecesOfABufferThatIsGone) {
  destroy(retrieve(0));
  EXPECT_NE(transfer(0, data_, 0, 8, false).code, PJRT_Error_Code_INTERNAL);
  EXPECT_NE(transfer(0, data_, 8, 8, true).code, PJRT_Error_Code_INTERNAL);
}

TEST_F(TransferManagerTest, OutlivesItsClient) {
  PJRT_Buffer* buffer = retrieve(0);
  EXPECT_PJRT_OK(transfer(0, data_, 0, kBytes, true));
  auto args = make<PJRT_Client_Destroy_Args>();
  args.client = std::exchange(client_, nullptr);
  EXPECT_PJRT_OK(call(api_.PJRT_Client_Destroy, args));
  EXPECT_PJRT_OK(transfer(1, data_, 0, kBytes, true));
  EXPECT_EQ(toHost(buffer), std::vector<float>(data_, data_ + 4));
  destroy(buffer);
}

}  // namespace
}  // namespace isthmus::pjrt
