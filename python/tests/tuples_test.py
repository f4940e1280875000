"""Programs of which arguments and results are tuples: each element is a buffer."""

import numpy as np
import pypjrt

PROGRAM = """
func.func @main(%p: tuple<tensor<2xf32>, tuple<tensor<i32>>>, %x: tensor<f32>)
    -> (tuple<tensor<2xf32>, tuple<tensor<i32>, tensor<f32>>>) {
  %a = stablehlo.get_tuple_element %p[0] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<2xf32>
  %q = stablehlo.get_tuple_element %p[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
  %b = stablehlo.get_tuple_element %q[0] : (tuple<tensor<i32>>) -> tensor<i32>
  %d = stablehlo.add %a, %a : tensor<2xf32>
  %t = stablehlo.tuple %b, %x : tuple<tensor<i32>, tensor<f32>>
  %u = stablehlo.tuple %d, %t : tuple<tensor<2xf32>, tuple<tensor<i32>, tensor<f32>>>
  return %u : tuple<tensor<2xf32>, tuple<tensor<i32>, tensor<f32>>>
}
"""


def test_tuples_are_their_elements(library):
    with pypjrt.Client.create(str(library)) as client, client.device(0) as device:
        types = client._plugin.abi

        def buffer(values, dtype, kind):
            values = np.asarray(values, dtype)
            return client.buffer_from_host(bytearray(values.tobytes()), kind, values.shape, device)

        with client.compile(PROGRAM) as executable:
            results = executable(buffer([1, 2], np.float32, types.PJRT_Buffer_Type_F32),
                                 buffer(7, np.int32, types.PJRT_Buffer_Type_S32),
                                 buffer(0.5, np.float32, types.PJRT_Buffer_Type_F32))
            got = [bytes(result.to_host()) for result in results]
    assert [np.frombuffer(got[0], np.float32).tolist(), np.frombuffer(got[1], np.int32).tolist(),
            np.frombuffer(got[2], np.float32).tolist()] == [[2, 4], [7], [0.5]]
