;; The arithmetic of silero-model.ts: four streams at a time or one, 32-bit floats, relaxed SIMD: products are added with
;; one rounding where the processor can.
;; Addresses and strides are in bytes. Nothing is checked: silero-kernel.ts owns the memory, silero-model.ts its layout.
;; silero-kernel.wasm is made of it by wabt: npx wat2wasm silero-kernel.wat -o silero-kernel.wasm
;; Tried without gain: more than four streams at a time, and the inner loop four times unrolled, which took half longer.
(module
  (memory (export "memory") 15)

  ;; A matrix times the vectors of four streams, at one or more positions of each: y = max(W x + bias, floor).
  ;; The matrix is packed in blocks of eight rows: eight biases, then for each column its eight weights. A block is
  ;; used for all positions while it is in the nearest cache.
  ;; `floor` is 0 for ReLU and -infinity for none.
  (func (export "multiply")
    (param $weights i32) (param $blocks i32) (param $columns i32) (param $floor f32)
    (param $x i32) (param $y i32) (param $lane i32) (param $positions i32) (param $xStep i32) (param $yStep i32)
    (local $position i32) (local $column i32) (local $w i32)
    (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32) (local $out i32)
    (local $low v128) (local $high v128) (local $value v128) (local $least v128)
    (local $low0 v128) (local $low1 v128) (local $low2 v128) (local $low3 v128)
    (local $high0 v128) (local $high1 v128) (local $high2 v128) (local $high3 v128)
    (local.set $least (f32x4.splat (local.get $floor)))
    (loop $block
      (local.set $position (i32.const 0))
      (loop $next
        (local.set $w (i32.add (local.get $weights) (i32.const 32)))
        (local.set $x0 (i32.add (local.get $x) (i32.mul (local.get $position) (local.get $xStep))))
        (local.set $x1 (i32.add (local.get $x0) (local.get $lane)))
        (local.set $x2 (i32.add (local.get $x1) (local.get $lane)))
        (local.set $x3 (i32.add (local.get $x2) (local.get $lane)))
        (local.set $low0 (v128.load (local.get $weights)))
        (local.set $high0 (v128.load offset=16 (local.get $weights)))
        (local.set $low1 (local.get $low0))
        (local.set $low2 (local.get $low0))
        (local.set $low3 (local.get $low0))
        (local.set $high1 (local.get $high0))
        (local.set $high2 (local.get $high0))
        (local.set $high3 (local.get $high0))
        (local.set $column (local.get $columns))
        (loop $multiply
          (local.set $low (v128.load (local.get $w)))
          (local.set $high (v128.load offset=16 (local.get $w)))
          (local.set $value (v128.load32_splat (local.get $x0)))
          (local.set $low0 (f32x4.relaxed_madd (local.get $low) (local.get $value) (local.get $low0)))
          (local.set $high0 (f32x4.relaxed_madd (local.get $high) (local.get $value) (local.get $high0)))
          (local.set $value (v128.load32_splat (local.get $x1)))
          (local.set $low1 (f32x4.relaxed_madd (local.get $low) (local.get $value) (local.get $low1)))
          (local.set $high1 (f32x4.relaxed_madd (local.get $high) (local.get $value) (local.get $high1)))
          (local.set $value (v128.load32_splat (local.get $x2)))
          (local.set $low2 (f32x4.relaxed_madd (local.get $low) (local.get $value) (local.get $low2)))
          (local.set $high2 (f32x4.relaxed_madd (local.get $high) (local.get $value) (local.get $high2)))
          (local.set $value (v128.load32_splat (local.get $x3)))
          (local.set $low3 (f32x4.relaxed_madd (local.get $low) (local.get $value) (local.get $low3)))
          (local.set $high3 (f32x4.relaxed_madd (local.get $high) (local.get $value) (local.get $high3)))
          (local.set $w (i32.add (local.get $w) (i32.const 32)))
          (local.set $x0 (i32.add (local.get $x0) (i32.const 4)))
          (local.set $x1 (i32.add (local.get $x1) (i32.const 4)))
          (local.set $x2 (i32.add (local.get $x2) (i32.const 4)))
          (local.set $x3 (i32.add (local.get $x3) (i32.const 4)))
          (br_if $multiply (local.tee $column (i32.sub (local.get $column) (i32.const 1)))))
        (local.set $out (i32.add (local.get $y) (i32.mul (local.get $position) (local.get $yStep))))
        (v128.store (local.get $out) (f32x4.max (local.get $low0) (local.get $least)))
        (v128.store offset=16 (local.get $out) (f32x4.max (local.get $high0) (local.get $least)))
        (local.set $out (i32.add (local.get $out) (local.get $lane)))
        (v128.store (local.get $out) (f32x4.max (local.get $low1) (local.get $least)))
        (v128.store offset=16 (local.get $out) (f32x4.max (local.get $high1) (local.get $least)))
        (local.set $out (i32.add (local.get $out) (local.get $lane)))
        (v128.store (local.get $out) (f32x4.max (local.get $low2) (local.get $least)))
        (v128.store offset=16 (local.get $out) (f32x4.max (local.get $high2) (local.get $least)))
        (local.set $out (i32.add (local.get $out) (local.get $lane)))
        (v128.store (local.get $out) (f32x4.max (local.get $low3) (local.get $least)))
        (v128.store offset=16 (local.get $out) (f32x4.max (local.get $high3) (local.get $least)))
        (local.set $position (i32.add (local.get $position) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $position) (local.get $positions))))
      (local.set $weights (local.get $w))
      (local.set $y (i32.add (local.get $y) (i32.const 32)))
      (br_if $block (local.tee $blocks (i32.sub (local.get $blocks) (i32.const 1))))))

  ;; The same for the vectors of one stream, two blocks at a time: what is added up is then as independent as that of
  ;; two streams, and the sums are the same to the last bit.
  (func (export "multiplyOne")
    (param $weights i32) (param $blocks i32) (param $columns i32) (param $floor f32)
    (param $x i32) (param $y i32) (param $positions i32) (param $xStep i32) (param $yStep i32)
    (local $position i32) (local $column i32) (local $w i32) (local $u i32) (local $v i32)
    (local $step i32) (local $outStep i32) (local $out i32)
    (local $value v128) (local $least v128)
    (local $low0 v128) (local $low1 v128) (local $high0 v128) (local $high1 v128)
    (local.set $least (f32x4.splat (local.get $floor)))
    (local.set $step (i32.shl (i32.add (local.get $columns) (i32.const 1)) (i32.const 5)))
    (local.set $outStep (i32.const 32))
    (loop $block
      ;; The last one of an odd number is its own second.
      (if (i32.eq (local.get $blocks) (i32.const 1))
        (then
          (local.set $step (i32.const 0))
          (local.set $outStep (i32.const 0))))
      (local.set $w (i32.add (local.get $weights) (local.get $step)))
      (local.set $position (i32.const 0))
      (loop $next
        (local.set $low0 (v128.load (local.get $weights)))
        (local.set $high0 (v128.load offset=16 (local.get $weights)))
        (local.set $low1 (v128.load (local.get $w)))
        (local.set $high1 (v128.load offset=16 (local.get $w)))
        (local.set $u (i32.add (local.get $weights) (i32.const 32)))
        (local.set $v (i32.add (local.get $w) (i32.const 32)))
        (local.set $out (i32.add (local.get $x) (i32.mul (local.get $position) (local.get $xStep))))
        (local.set $column (local.get $columns))
        (loop $multiply
          (local.set $value (v128.load32_splat (local.get $out)))
          (local.set $low0 (f32x4.relaxed_madd (v128.load (local.get $u)) (local.get $value) (local.get $low0)))
          (local.set $high0
            (f32x4.relaxed_madd (v128.load offset=16 (local.get $u)) (local.get $value) (local.get $high0)))
          (local.set $low1 (f32x4.relaxed_madd (v128.load (local.get $v)) (local.get $value) (local.get $low1)))
          (local.set $high1
            (f32x4.relaxed_madd (v128.load offset=16 (local.get $v)) (local.get $value) (local.get $high1)))
          (local.set $u (i32.add (local.get $u) (i32.const 32)))
          (local.set $v (i32.add (local.get $v) (i32.const 32)))
          (local.set $out (i32.add (local.get $out) (i32.const 4)))
          (br_if $multiply (local.tee $column (i32.sub (local.get $column) (i32.const 1)))))
        (local.set $out (i32.add (local.get $y) (i32.mul (local.get $position) (local.get $yStep))))
        (v128.store (local.get $out) (f32x4.max (local.get $low0) (local.get $least)))
        (v128.store offset=16 (local.get $out) (f32x4.max (local.get $high0) (local.get $least)))
        (local.set $out (i32.add (local.get $out) (local.get $outStep)))
        (v128.store (local.get $out) (f32x4.max (local.get $low1) (local.get $least)))
        (v128.store offset=16 (local.get $out) (f32x4.max (local.get $high1) (local.get $least)))
        (local.set $position (i32.add (local.get $position) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $position) (local.get $positions))))
      (local.set $weights (local.get $v))
      (local.set $y (i32.add (local.get $y) (i32.const 64)))
      (br_if $block (i32.gt_s (local.tee $blocks (i32.sub (local.get $blocks) (i32.const 2))) (i32.const 0)))))

  ;; The lengths of complex numbers, four at a time: y = sqrt(re re + im im).
  (func (export "magnitudes") (param $re i32) (param $im i32) (param $y i32) (param $fours i32)
    (local $a v128) (local $b v128)
    (loop $next
      (local.set $a (v128.load (local.get $re)))
      (local.set $b (v128.load (local.get $im)))
      (v128.store (local.get $y)
        (f32x4.sqrt (f32x4.add
          (f32x4.mul (local.get $a) (local.get $a))
          (f32x4.mul (local.get $b) (local.get $b)))))
      (local.set $re (i32.add (local.get $re) (i32.const 16)))
      (local.set $im (i32.add (local.get $im) (i32.const 16)))
      (local.set $y (i32.add (local.get $y) (i32.const 16)))
      (br_if $next (local.tee $fours (i32.sub (local.get $fours) (i32.const 1))))))

  ;; 1 / (1 + e^-x). The power is 2^n e^r: n the nearest whole number of x / ln 2, by adding 1.5 2^23, which leaves it
  ;; in the lowest bits; e^r by a polynomial of degree six, for |r| <= ln 2 / 2.
  (func $sigmoid (param $x v128) (result v128)
    (local $n v128) (local $r v128)
    (local.set $x (f32x4.max (f32x4.splat (f32.const -87))
      (f32x4.min (f32x4.splat (f32.const 87)) (f32x4.neg (local.get $x)))))
    (local.set $n (f32x4.add (f32x4.splat (f32.const 12582912))
      (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.44269504)))))
    (local.set $r (f32x4.sub (local.get $n) (f32x4.splat (f32.const 12582912))))
    (local.set $r (f32x4.sub
      (f32x4.sub (local.get $x) (f32x4.mul (local.get $r) (f32x4.splat (f32.const 0.693359375))))
      (f32x4.mul (local.get $r) (f32x4.splat (f32.const -2.12194440e-4)))))
    (local.set $x (f32x4.splat (f32.const 1.3888889e-3)))
    (local.set $x (f32x4.add (f32x4.splat (f32.const 8.3333333e-3)) (f32x4.mul (local.get $x) (local.get $r))))
    (local.set $x (f32x4.add (f32x4.splat (f32.const 4.1666667e-2)) (f32x4.mul (local.get $x) (local.get $r))))
    (local.set $x (f32x4.add (f32x4.splat (f32.const 0.16666667)) (f32x4.mul (local.get $x) (local.get $r))))
    (local.set $x (f32x4.add (f32x4.splat (f32.const 0.5)) (f32x4.mul (local.get $x) (local.get $r))))
    (local.set $x (f32x4.add (f32x4.splat (f32.const 1)) (f32x4.mul (local.get $x) (local.get $r))))
    (local.set $x (f32x4.add (f32x4.splat (f32.const 1)) (f32x4.mul (local.get $x) (local.get $r))))
    (f32x4.div
      (f32x4.splat (f32.const 1))
      (f32x4.add
        (f32x4.splat (f32.const 1))
        (f32x4.mul
          (local.get $x)
          (i32x4.add (i32x4.shl (local.get $n) (i32.const 23)) (i32x4.splat (i32.const 0x3f800000)))))))

  ;; tanh(x) = 2 sigmoid(2x) - 1
  (func $tanh (param $x v128) (result v128)
    (local.set $x (call $sigmoid (f32x4.add (local.get $x) (local.get $x))))
    (f32x4.sub (f32x4.add (local.get $x) (local.get $x)) (f32x4.splat (f32.const 1))))

  ;; One step of the LSTM of one stream, 128 cells. `gates` are 4 times 128 numbers: input, forget, cell, output.
  ;; Replaces `cell` and `hidden`, and writes max(hidden, 0) to `y`.
  (func (export "step") (param $gates i32) (param $hidden i32) (param $cell i32) (param $y i32)
    (local $fours i32) (local $c v128)
    (local.set $fours (i32.const 32))
    (loop $next
      (local.set $c (f32x4.add
        (f32x4.mul (call $sigmoid (v128.load offset=512 (local.get $gates))) (v128.load (local.get $cell)))
        (f32x4.mul
          (call $sigmoid (v128.load (local.get $gates)))
          (call $tanh (v128.load offset=1024 (local.get $gates))))))
      (v128.store (local.get $cell) (local.get $c))
      (local.set $c (f32x4.mul
        (call $sigmoid (v128.load offset=1536 (local.get $gates)))
        (call $tanh (local.get $c))))
      (v128.store (local.get $hidden) (local.get $c))
      (v128.store (local.get $y) (f32x4.max (local.get $c) (f32x4.splat (f32.const 0))))
      (local.set $gates (i32.add (local.get $gates) (i32.const 16)))
      (local.set $hidden (i32.add (local.get $hidden) (i32.const 16)))
      (local.set $cell (i32.add (local.get $cell) (i32.const 16)))
      (local.set $y (i32.add (local.get $y) (i32.const 16)))
      (br_if $next (local.tee $fours (i32.sub (local.get $fours) (i32.const 1)))))))
