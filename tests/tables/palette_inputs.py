"""What is wired into a node of each kind where its start values are tried out.

Inputs are written as their shapes on wires; those that begin with N are rows, the others constants.
The last one goes into all ports that follow.
"""

USUAL = "N×4×6 f32"
"""What suits every kind that is not listed."""
_LISTED = {
    "N×4×6×6 f32": """
        nn.AdaptiveAvgPool3d nn.AdaptiveMaxPool3d nn.AvgPool3d nn.BatchNorm2d nn.Conv2d
        nn.Conv2dTranspose nn.Dropout3d nn.FractionalMaxPool2d nn.InstanceNorm2d nn.MaxPool3d
        nn.PixelShuffle nn.ReflectionPad3d nn.ReplicationPad3d ops.adaptive_avg_pool3d
        ops.adaptive_max_pool3d ops.avg_pool3d ops.bmm ops.cholesky_inverse ops.cholesky_solve
        ops.conv2d ops.depth_to_space ops.det ops.dot ops.eigh ops.eigvalsh
        ops.fractional_max_pool2d ops.logdet ops.matmul ops.matrix_exp ops.matrix_power
        ops.max_pool3d ops.pixel_shuffle ops.resize_bicubic ops.resize_bilinear
        ops.resize_nearest_neighbor ops.slogdet ops.solve_triangular ops.space_to_depth
        ops.unfold
    """,
    "N×6 i32": """
        nn.Embedding nn.EmbeddingLookup nn.MaxUnpool1d nn.MultilabelMarginLoss nn.OneHot
        ops.bitwise_and ops.bitwise_left_shift ops.bitwise_not ops.bitwise_or
        ops.bitwise_right_shift ops.bitwise_xor ops.embedding ops.gather ops.gather_elements
        ops.gcd ops.lcm ops.max_unpool1d ops.one_hot ops.scatter ops.take_along_dim
        ops.tensor_scatter_elements ops.unsorted_segment_max ops.unsorted_segment_mean
        ops.unsorted_segment_min ops.unsorted_segment_prod ops.unsorted_segment_sum
    """,
    "N×4×4×4×4 f32, N×4 i32": """
        ops.scatter_nd_add ops.scatter_nd_div ops.scatter_nd_max ops.scatter_nd_min
        ops.scatter_nd_mul ops.scatter_nd_sub ops.scatter_nd_update ops.tensor_scatter_add
        ops.tensor_scatter_div ops.tensor_scatter_max ops.tensor_scatter_min
        ops.tensor_scatter_mul ops.tensor_scatter_sub ops.tensor_scatter_update
    """,
    "N×6 f32": """
        nn.GRUCell nn.LSTMCell nn.RNNCell ops.block_diag ops.corrcoef ops.cov ops.dense
        ops.fill_diagonal ops.tensordot ops.transpose
    """,
    "N f32": """
        nn.CosineEmbeddingLoss ops.addr ops.broadcast_to ops.cartesian_prod ops.multi_dot
        ops.outer ops.slice ops.unique_with_pad ops.vdot
    """,
    "N f32, N×6 i32": """
        ops.scatter_add ops.scatter_div ops.scatter_max ops.scatter_min ops.scatter_mul
        ops.scatter_sub ops.scatter_update
    """,
    "N×4×4×4×4 f32": """
        nn.BatchNorm3d nn.Conv3d nn.Conv3dTranspose nn.FractionalMaxPool3d nn.InstanceNorm3d
        ops.conv3d ops.fractional_max_pool3d
    """,
    "4×4 f32": "ops.addmm ops.diag ops.diagflat ops.diagonal ops.mm ops.trace",
    "N f32, N i32": "ops.index_add ops.inplace_add ops.inplace_sub ops.inplace_update",
    "N×1×1 f32": "ops.cholesky ops.inverse ops.lu_factor ops.solve",
    "N×4×6×6 f32, N×4×6×6 i32": """
        nn.MaxUnpool2d nn.MaxUnpool3d ops.max_unpool2d ops.max_unpool3d
    """,
    "N×4×4 f32": "ops.addbmm ops.baddbmm ops.bidense",
    "f32": "ops.linspace ops.logspace ops.prelu",
    "N×4×6 f32, 4 f32": "ops.batch_norm ops.bias_add",
    "N×4×6 f32, N i32": "ops.index_select ops.reverse_sequence",
    "10×6 f32, 10 f32, N×1 i64, N×6 f32": "nn.SampledSoftmaxLoss",
    "1×1 f32": "ops.lstsq",
    "1×2×3 f32": "ops.affine_grid",
    "2×1 i32, 2×6 f32": "ops.scatter_nd",
    "3 f32": "ops.cross",
    "4 f32, 4×4 f32, 4 f32": "ops.addmv",
    "4×2 f32, 4×4 f32, 4 i32": "ops.lu_solve",
    "4×4 f32, N×6 i32": "ops.take",
    "6 f32": "ops.combinations",
    "6 f32, 6 b, 6 f32": "ops.masked_scatter",
    "6×2×5 f32, 2×3 i32, 2 i32, 2 i32": "nn.CTCLoss",
    "N×18 f32, N×18 f32, N×6 f32": "ops.gru_step",
    "N×24 f32, N×6 f32": "ops.lstm_step",
    "N×36×36 f32": "ops.fold",
    "N×4×18 f32, 4×6 f32, 18×6 f32": "ops.gru_layer",
    "N×4×24 f32, 4×6 f32, 4×6 f32, 24×6 f32": "ops.lstm_layer",
    "N×4×4 f32, N×4 i32": "ops.lu_unpack",
    "N×4×4×4×4 f32, 4×4×3×3×3 f32": "ops.conv_transpose3d",
    "N×4×6 f32, 2 i32": "ops.gather_nd",
    "N×4×6 f32, 4×4×3 f32": "ops.conv_transpose1d",
    "N×4×6 f32, 4×6 f32, 6×6 f32": "ops.rnn_layer",
    "N×4×6 f32, 6 i32": "ops.index_put",
    "N×4×6 f32, 6×3 f32": "ops.einsum",
    "N×4×64 f32": "nn.Transformer",
    "N×4×6×6 f32, 4×4×3×3 f32": "ops.conv_transpose2d",
    "N×4×6×6 f32, N×5×5×2 f32": "ops.grid_sample",
    "N×6 f32, 2 i32, f32": "ops.index_fill",
    "N×6 f32, 6 f32": "ops.mv",
    "N×6 f32, N i32": "nn.MultiMarginLoss",
    "N×6 f32, N×6 b, f32": "ops.masked_fill",
    "N×6 f32, f32": "ops.clip_by_value",
}
INPUTS = {type: inputs for inputs, types in _LISTED.items() for type in types.split()}
"""Inputs by the node's type."""
