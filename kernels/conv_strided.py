"""The gradient of a strided convolution's input: products give patches, which are added up.

`StridedGrad` does what `DirectConv` cannot do as a sum over taps. Image by image, and group by
group, one product gives the gradients of all patches, and these are added into a padded image.
"""

from __future__ import annotations

from dataclasses import dataclass

from .control import Carried, repeat
from .conv_account import account_of_strided
from .emitter import Emitter, Value, as_internal, literal
from .expressions import INT64, DType, affine, const
from .gemm import BlasGemm, Gemm, Product, choose_gemm
from .llvm import print_function
from .loops import Buffer, Function, Loop, Statement, Store, load
from .target import Target
from .windows import Window


@dataclass(frozen=True)
class StridedGrad:
    """`void name(image, weight, out, workspace, blas?, n)`: write the gradient of `n` images.

    It reads the output's gradient ("out") and the weight. The workspace holds one padded image and
    its patches.
    """

    name: str
    window: Window
    channels: int
    filters: int
    dtype: DType
    groups: int = 1

    @property
    def inputs(self) -> int:
        """Channels of a group."""
        return self.channels // self.groups

    @property
    def pixels(self) -> int:
        """Pixels of one output image."""
        return self.window.out_height * self.window.out_width

    @property
    def depth(self) -> int:
        """Numbers in one patch."""
        return self.inputs * self.window.kernel[0] * self.window.kernel[1]

    @property
    def padded_size(self) -> int:
        """Numbers in one padded image."""
        return self.inputs * self.window.padded[0] * self.window.padded[1]

    @property
    def workspace(self) -> int:
        """Elements of the workspace, whatever the number of images."""
        return self.padded_size + self.depth * self.pixels

    @property
    def gemm(self) -> Gemm | BlasGemm:
        """The product for one group of one image."""
        sizes = (self.depth, self.pixels, self.filters // self.groups)
        return choose_gemm(f"{self.name}.product", Product(self.dtype, *sizes, transpose_a=True))

    @property
    def needs_blas(self) -> bool:
        """Whether the kernel takes the address of BLAS after its other buffers."""
        return isinstance(self.gemm, BlasGemm)

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the integer parameters."""
        return ("n",)

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_strided(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        sizes = f"{self.channels} to {self.filters} in {self.groups} {self.window}"
        return f"strided grad {self.name} {sizes} {self.gemm.text}"

    def functions(self) -> tuple[Function, ...]:
        """The loops beside the product, in order."""
        return (self.clear(), self.scatter(), self.crop())

    def clear(self) -> Function:
        """Fill the padded image with zeros."""
        zero = Store("to", affine("i"), const(0, self.dtype))
        loop = Loop("i", self.padded_size, (zero,), vector=True)
        return Function(f"{self.name}.clear", (Buffer("to", self.dtype),), (), (loop,))

    def crop(self) -> Function:
        """Copy the padded image without its border."""
        w = self.window
        height, width = w.padded
        image = affine(("c", w.height * w.width), ("i", w.width), "j")
        first = w.padding[0] * width + w.padding[2]
        padded = affine(("c", height * width), ("i", width), "j", offset=first)
        start, end = Buffer("padded", self.dtype), Buffer("image", self.dtype)
        row: Statement = Loop("j", w.width, (Store("image", image, load(start, padded)),), True)
        body = Loop("c", self.inputs, (Loop("i", w.height, (row,)),))
        return Function(f"{self.name}.crop", (start, end), (), (body,))

    def scatter(self) -> Function:
        """Add patches, as columns, into the padded image."""
        w, (height, width) = self.window, self.window.padded
        rows, columns = w.kernel
        padded = affine(
            ("c", height * width), ("a", w.dilation[0] * width), ("b", w.dilation[1]),
            ("i", w.stride[0] * width), ("j", w.stride[1]),
        )  # fmt: skip
        tap = self.pixels
        column = affine(
            ("c", rows * columns * tap), ("a", columns * tap), ("b", tap), ("i", w.out_width), "j"
        )
        image, matrix = Buffer("padded", self.dtype), Buffer("columns", self.dtype)
        step = Store("padded", padded, load(image, padded) + load(matrix, column))
        body: Statement = Loop("j", w.out_width, (step,), vector=True)
        extents = (w.out_height, columns, rows, self.inputs)
        for name, extent in zip("ibac", extents, strict=True):
            body = Loop(name, extent, (body,))
        return Function(f"{self.name}.scatter", (image, matrix), (), (body,))

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        emit = Emitter(declarations)
        self._images(emit)
        parts = [print_function(f, target, declarations) for f in self.functions()]
        parts.append(self.gemm.llvm(target, declarations))
        parts = [as_internal(part) for part in parts]
        pointers = ["image", "weight", "out", "workspace", *(["blas"] if self.needs_blas else [])]
        params = [*(f"ptr %conv.{p}" for p in pointers), "i64 %arg.n"]
        return "\n\n".join([*parts, emit.define(self.name, params)])

    def _images(self, emit: Emitter) -> None:
        """Print the loops over images and groups."""
        w, outputs = self.window, self.filters // self.groups
        padded = "%conv.workspace"
        columns = emit.address(padded, self.dtype, literal(self.padded_size, INT64)).text
        sizes = {
            "%conv.image": self.inputs * w.height * w.width,
            "%conv.weight": outputs * self.depth,
            "%conv.out": outputs * self.pixels,
        }

        def at(pointer: str, number: Value) -> str:
            return emit.address(pointer, self.dtype, emit.mul(number, sizes[pointer])).text

        def call(role: str, *pointers: str) -> None:
            args = ", ".join(f"ptr {p}" for p in pointers)
            emit.line(f"call void @{self.name}.{role}({args})")

        def one(index: Value, state: Carried) -> Carried:
            group = emit.binary("urem", index, self.groups)
            blas = ("%conv.blas",) if self.needs_blas else ()
            call("product", at("%conv.weight", group), at("%conv.out", index), columns, *blas)
            call("clear", padded)
            call("scatter", padded, columns)
            call("crop", padded, at("%conv.image", index))
            return state

        repeat(emit, emit.mul(Value("%arg.n", INT64), self.groups), 1, {}, one)
