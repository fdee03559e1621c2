; Made from sequence.c by `python -m optgen.objectcode.generate`, with clang 22.1.8.
; SHA-256 of sequence.c: 28df63b21a5d71d7c45b7679ebaa2c69d141489b82c278427d071fe4915ad1bb

%struct.sequence = type { i64, ptr, ptr, ptr, i64 }
%struct.call = type { ptr, ptr, i64 }
%struct.loop = type { i64, i64, ptr, ptr }
%struct.sequences = type { i64, ptr }

define void @optgen_sequence_run(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  %5 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %6 = load ptr, ptr %2, align 8
  %7 = getelementptr inbounds %struct.sequence, ptr %6, i32 0, i32 0
  %8 = load i64, ptr %7, align 8
  store i64 %8, ptr %3, align 8
  store i64 0, ptr %4, align 8
  br label %9

9:
  %10 = load i64, ptr %4, align 8
  %11 = load i64, ptr %3, align 8
  %12 = icmp slt i64 %10, %11
  br i1 %12, label %13, label %58

13:
  %14 = load ptr, ptr %2, align 8
  %15 = getelementptr inbounds %struct.sequence, ptr %14, i32 0, i32 1
  %16 = load ptr, ptr %15, align 8
  %17 = load i64, ptr %4, align 8
  %18 = getelementptr inbounds %struct.call, ptr %16, i64 %17
  store ptr %18, ptr %5, align 8
  %19 = load ptr, ptr %2, align 8
  %20 = getelementptr inbounds %struct.sequence, ptr %19, i32 0, i32 2
  %21 = load ptr, ptr %20, align 8
  %22 = icmp ne ptr %21, null
  br i1 %22, label %23, label %47

23:
  %24 = load ptr, ptr %5, align 8
  %25 = getelementptr inbounds %struct.call, ptr %24, i32 0, i32 2
  %26 = load i64, ptr %25, align 8
  %27 = load ptr, ptr %2, align 8
  %28 = getelementptr inbounds %struct.sequence, ptr %27, i32 0, i32 4
  %29 = load i64, ptr %28, align 8
  %30 = icmp sge i64 %26, %29
  br i1 %30, label %31, label %47

31:
  %32 = load ptr, ptr %2, align 8
  %33 = getelementptr inbounds %struct.sequence, ptr %32, i32 0, i32 2
  %34 = load ptr, ptr %33, align 8
  %35 = load ptr, ptr %2, align 8
  %36 = getelementptr inbounds %struct.sequence, ptr %35, i32 0, i32 3
  %37 = load ptr, ptr %36, align 8
  %38 = load ptr, ptr %5, align 8
  %39 = getelementptr inbounds %struct.call, ptr %38, i32 0, i32 0
  %40 = load ptr, ptr %39, align 8
  %41 = load ptr, ptr %5, align 8
  %42 = getelementptr inbounds %struct.call, ptr %41, i32 0, i32 1
  %43 = load ptr, ptr %42, align 8
  %44 = load ptr, ptr %5, align 8
  %45 = getelementptr inbounds %struct.call, ptr %44, i32 0, i32 2
  %46 = load i64, ptr %45, align 8
  call void %34(ptr %37, ptr %40, ptr %43, i64 %46)
  br label %54

47:
  %48 = load ptr, ptr %5, align 8
  %49 = getelementptr inbounds %struct.call, ptr %48, i32 0, i32 0
  %50 = load ptr, ptr %49, align 8
  %51 = load ptr, ptr %5, align 8
  %52 = getelementptr inbounds %struct.call, ptr %51, i32 0, i32 1
  %53 = load ptr, ptr %52, align 8
  call void %50(ptr %53, i64 0, i64 1)
  br label %54

54:
  br label %55

55:
  %56 = load i64, ptr %4, align 8
  %57 = add nsw i64 %56, 1
  store i64 %57, ptr %4, align 8
  br label %9

58:
  ret void
}

define void @optgen_loop_run(ptr %0, i64 %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %10 = load ptr, ptr %4, align 8
  store ptr %10, ptr %7, align 8
  %11 = load i64, ptr %5, align 8
  %12 = load i64, ptr %6, align 8
  store i64 0, ptr %8, align 8
  br label %13

13:
  %14 = load i64, ptr %8, align 8
  %15 = load ptr, ptr %7, align 8
  %16 = getelementptr inbounds %struct.loop, ptr %15, i32 0, i32 0
  %17 = load i64, ptr %16, align 8
  %18 = icmp slt i64 %14, %17
  br i1 %18, label %19, label %55

19:
  store i64 0, ptr %9, align 8
  br label %20

20:
  %21 = load i64, ptr %9, align 8
  %22 = load ptr, ptr %7, align 8
  %23 = getelementptr inbounds %struct.loop, ptr %22, i32 0, i32 1
  %24 = load i64, ptr %23, align 8
  %25 = icmp slt i64 %21, %24
  br i1 %25, label %26, label %38

26:
  %27 = load i64, ptr %8, align 8
  %28 = sitofp i64 %27 to double
  %29 = load ptr, ptr %7, align 8
  %30 = getelementptr inbounds %struct.loop, ptr %29, i32 0, i32 2
  %31 = load ptr, ptr %30, align 8
  %32 = load i64, ptr %9, align 8
  %33 = getelementptr inbounds ptr, ptr %31, i64 %32
  %34 = load ptr, ptr %33, align 8
  store double %28, ptr %34, align 8
  br label %35

35:
  %36 = load i64, ptr %9, align 8
  %37 = add nsw i64 %36, 1
  store i64 %37, ptr %9, align 8
  br label %20

38:
  %39 = load ptr, ptr %7, align 8
  %40 = getelementptr inbounds %struct.loop, ptr %39, i32 0, i32 3
  %41 = load ptr, ptr %40, align 8
  %42 = load i64, ptr %8, align 8
  %43 = icmp ne i64 %42, 0
  br i1 %43, label %44, label %48

44:
  %45 = load i64, ptr %8, align 8
  %46 = srem i64 %45, 2
  %47 = sub nsw i64 2, %46
  br label %49

48:
  br label %49

49:
  %50 = phi i64 [ %47, %44 ], [ 0, %48 ]
  %51 = getelementptr inbounds %struct.sequence, ptr %41, i64 %50
  call void @optgen_sequence_run(ptr %51)
  br label %52

52:
  %53 = load i64, ptr %8, align 8
  %54 = add nsw i64 %53, 1
  store i64 %54, ptr %8, align 8
  br label %13

55:
  ret void
}

define void @optgen_sequences_run(ptr %0, i64 %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %10 = load ptr, ptr %4, align 8
  store ptr %10, ptr %7, align 8
  %11 = load ptr, ptr %7, align 8
  %12 = getelementptr inbounds %struct.sequences, ptr %11, i32 0, i32 0
  %13 = load i64, ptr %12, align 8
  %14 = load i64, ptr %5, align 8
  %15 = add nsw i64 %14, 1
  %16 = mul nsw i64 %13, %15
  %17 = load i64, ptr %6, align 8
  %18 = sdiv i64 %16, %17
  store i64 %18, ptr %8, align 8
  %19 = load ptr, ptr %7, align 8
  %20 = getelementptr inbounds %struct.sequences, ptr %19, i32 0, i32 0
  %21 = load i64, ptr %20, align 8
  %22 = load i64, ptr %5, align 8
  %23 = mul nsw i64 %21, %22
  %24 = load i64, ptr %6, align 8
  %25 = sdiv i64 %23, %24
  store i64 %25, ptr %9, align 8
  br label %26

26:
  %27 = load i64, ptr %9, align 8
  %28 = load i64, ptr %8, align 8
  %29 = icmp slt i64 %27, %28
  br i1 %29, label %30, label %39

30:
  %31 = load ptr, ptr %7, align 8
  %32 = getelementptr inbounds %struct.sequences, ptr %31, i32 0, i32 1
  %33 = load ptr, ptr %32, align 8
  %34 = load i64, ptr %9, align 8
  %35 = getelementptr inbounds %struct.sequence, ptr %33, i64 %34
  call void @optgen_sequence_run(ptr %35)
  br label %36

36:
  %37 = load i64, ptr %9, align 8
  %38 = add nsw i64 %37, 1
  store i64 %38, ptr %9, align 8
  br label %26

39:
  ret void
}
