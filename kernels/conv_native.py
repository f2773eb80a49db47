"""Convolution as one native kernel: image by image, patches are gathered and multiplied in cache.

`ConvKernel` is a kernel like any other: forward with an epilogue, gradient of the input, gradient
of the weight. Its workspace holds one padded image and its patches, reused for every image.
"""

from __future__ import annotations

from dataclasses import dataclass

from .control import Carried, repeat
from .emitter import Emitter, Value, literal
from .expressions import INT64, DType, affine, const
from .gemm import BlasGemm, Gemm, Product, choose_gemm
from .llvm import print_function
from .loops import Buffer, Function, Loop, LoopError, Statement, Store, load
from .target import Target
from .windows import Window

KINDS = ("forward", "input_grad", "weight_grad")


@dataclass(frozen=True)
class ConvKernel:
    """`void name(image, weight, out, workspace, others..., blas?, n, the epilogue's ints...)`.

    Buffers of the three kinds: forward reads the image and the weight and writes the output;
    `input_grad` reads the output's gradient ("out") and the weight and writes the image's;
    `weight_grad` reads both images and writes the weight's. `n` is the number of images. An
    epilogue, for forward only, sees the output as rows of pixels, one per image and filter.
    """

    name: str
    kind: str
    window: Window
    channels: int
    filters: int
    dtype: DType
    epilogue: Function | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise LoopError(f"{self.kind!r} is not one of {KINDS}")
        if self.epilogue is not None and self.kind != "forward":
            raise LoopError(f"a convolution's {self.kind} takes no epilogue")

    @property
    def pixels(self) -> int:
        """Pixels of one output image."""
        return self.window.out_height * self.window.out_width

    @property
    def depth(self) -> int:
        """Numbers in one patch."""
        return self.channels * self.window.kernel[0] * self.window.kernel[1]

    @property
    def padded_size(self) -> int:
        """Numbers in one padded image."""
        return self.channels * self.window.padded[0] * self.window.padded[1]

    @property
    def workspace(self) -> int:
        """Elements of the workspace, whatever the number of images."""
        return 1 if self.window.is_pointwise else self.padded_size + self.depth * self.pixels

    @property
    def gemm(self) -> Gemm | BlasGemm:
        """The product for one image."""
        o, k, p = self.filters, self.depth, self.pixels
        match self.kind:
            case "forward":
                product = Product(self.dtype, o, p, k, epilogue=self.epilogue, start="image")
            case "input_grad":
                product = Product(self.dtype, k, p, o, transpose_a=True)
            case _:
                product = Product(self.dtype, o, k, p, transpose_b=True, accumulate=True)
        return choose_gemm(f"{self.name}.product", product)

    @property
    def needs_blas(self) -> bool:
        """Whether the kernel takes the address of BLAS after its other buffers."""
        return isinstance(self.gemm, BlasGemm)

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the integer parameters."""
        own = self.epilogue.ints[3:] if self.epilogue else ()
        return ("n", *(name for name in own if name != "n"))

    @property
    def text(self) -> str:
        """A canonical description."""
        sizes = f"{self.channels} to {self.filters} {self.window}"
        return f"conv {self.name} {self.kind} {sizes} {self.gemm.text}"

    def functions(self) -> dict[str, Function]:
        """The loops beside the product, by role."""
        if self.window.is_pointwise:
            return {"clear_weight": self.clear("clear_weight", self.filters * self.depth)}
        return {
            "clear": self.clear("clear", self.padded_size),
            "clear_weight": self.clear("clear_weight", self.filters * self.depth),
            "pad": self.copy("pad", inward=True),
            "crop": self.copy("crop", inward=False),
            "gather": self.patches("gather", add=False),
            "scatter": self.patches("scatter", add=True),
        }

    def clear(self, role: str, size: int) -> Function:
        """Fill with zeros."""
        zero = Store("to", affine("i"), const(0, self.dtype))
        loop = Loop("i", size, (zero,), vector=True)
        return Function(f"{self.name}.{role}", (Buffer("to", self.dtype),), (), (loop,))

    def copy(self, role: str, inward: bool) -> Function:
        """Copy an image into the padded one, or back."""
        w = self.window
        height, width = w.padded
        top, left = w.padding[0], w.padding[2]
        image = affine(("c", w.height * w.width), ("i", w.width), "j")
        padded = affine(("c", height * width), ("i", width), "j", offset=top * width + left)
        source, target = (image, padded) if inward else (padded, image)
        start, end = Buffer("from_", self.dtype), Buffer("to", self.dtype)
        row: Statement = Loop("j", w.width, (Store("to", target, load(start, source)),), True)
        body = Loop("c", self.channels, (Loop("i", w.height, (row,)),))
        return Function(f"{self.name}.{role}", (start, end), (), (body,))

    def patches(self, role: str, add: bool) -> Function:
        """Gather patches of the padded image as columns, or add columns back into it."""
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
        if add:
            step = Store("padded", padded, load(image, padded) + load(matrix, column))
        else:
            step = Store("columns", column, load(image, padded))
        body: Statement = Loop("j", w.out_width, (step,), vector=True)
        for name, extent in (
            ("i", w.out_height),
            ("b", columns),
            ("a", rows),
            ("c", self.channels),
        ):
            body = Loop(name, extent, (body,))
        return Function(f"{self.name}.{role}", (image, matrix), (), (body,))

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        emit = Emitter(declarations)
        used: dict[str, Function] = {}
        _Driver(emit, self, used).run()
        parts = [print_function(f, target, declarations) for f in used.values()]
        parts.append(self.gemm.llvm(target, declarations))
        others = self.gemm.product.others
        pointers = ["image", "weight", "out", "workspace"]
        params = [f"ptr %conv.{p}" for p in pointers] + [f"ptr %arg.{p}" for p in others]
        params += ["ptr %conv.blas"] if self.needs_blas else []
        params += [f"i64 %arg.{name}" for name in self.ints]
        parts = [part.replace("define void @", "define internal void @") for part in parts]
        head = f"define void @{self.name}({', '.join(params)}) nounwind {{"
        return "\n\n".join([*parts, "\n".join([head, "entry:", *emit.lines, "  ret void", "}"])])


class _Driver:
    """The loop over images."""

    def __init__(self, emit: Emitter, conv: ConvKernel, used: dict[str, Function]) -> None:
        self.emit, self.conv, self.used = emit, conv, used
        self.functions = conv.functions()

    def call(self, role: str, *pointers: str) -> None:
        """Call a loop function."""
        self.used[role] = self.functions[role]
        args = ", ".join(f"ptr {p}" for p in pointers)
        self.emit.line(f"call void @{self.functions[role].name}({args})")

    def multiply(self, a: str, b: str, c: str, image: Value) -> None:
        """Call the product."""
        gemm = self.conv.gemm
        args = [f"ptr {p}" for p in (a, b, c)]
        args += [f"ptr %arg.{name}" for name in gemm.product.others]
        args += ["ptr %conv.blas"] if self.conv.needs_blas else []
        args += [f"i64 {image.text if name == 'image' else '%arg.' + name}" for name in gemm.ints]
        self.emit.line(f"call void @{gemm.name}({', '.join(args)})")

    def at(self, pointer: str, offset: Value) -> str:
        return self.emit.address(pointer, self.conv.dtype, offset).text

    def run(self) -> None:
        conv, padded = self.conv, "%conv.workspace"
        columns = self.at(
            padded, literal(0 if conv.window.is_pointwise else conv.padded_size, INT64)
        )
        if conv.kind == "weight_grad":
            self.call("clear_weight", "%conv.weight")
        if conv.kind != "input_grad" and not conv.window.is_pointwise:
            self.call("clear", padded)  # the border stays zero for all images

        def one(image: Value, state: Carried) -> Carried:
            size = conv.channels * conv.window.height * conv.window.width
            x = self.at("%conv.image", self.emit.mul(image, size))
            y = self.at("%conv.out", self.emit.mul(image, conv.filters * conv.pixels))
            self.image(image, x, y, padded, columns)
            return state

        repeat(self.emit, Value("%arg.n", INT64), 1, {}, one)

    def image(self, number: Value, x: str, y: str, padded: str, columns: str) -> None:
        pointwise = self.conv.window.is_pointwise
        if self.conv.kind == "input_grad":
            self.multiply("%conv.weight", y, x if pointwise else columns, number)
            if not pointwise:
                self.call("clear", padded)
                self.call("scatter", padded, columns)
                self.call("crop", padded, x)
            return
        if not pointwise:
            self.call("pad", x, padded)
            self.call("gather", padded, columns)
        seen = x if pointwise else columns
        if self.conv.kind == "forward":
            self.multiply("%conv.weight", seen, "%conv.out", number)
        else:
            self.multiply(y, seen, "%conv.weight", number)
