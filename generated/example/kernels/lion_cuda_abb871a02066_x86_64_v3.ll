; ModuleID = "Lion"
target triple = "x86_64-linux-gnu"
target datalayout = ""

define internal void @"lion_cuda_abb871a02066_x86_64_v3.host.body"(i64 %".1", ptr noalias %".2", ptr noalias %".3", ptr noalias %".4", ptr noalias %".5") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".7" = alloca i1
  store i1 0, i1* %".7"
  %".9" = icmp sgt i64 %".1", 1
  br i1 %".9", label %"entry.if", label %"entry.endif"
entry.if:
  %".11" = mul i64 %".1", 1
  %".12" = getelementptr inbounds double, ptr %".3", i64 %".11"
  %".13" = mul i64 %".1", 4
  %".14" = getelementptr inbounds double, ptr %".3", i64 %".13"
  %".15" = mul i64 %".1", 5
  %".16" = getelementptr inbounds double, ptr %".3", i64 %".15"
  %".17" = mul i64 %".1", 2
  %".18" = getelementptr inbounds double, ptr %".3", i64 %".17"
  %".19" = mul i64 %".1", 0
  %".20" = getelementptr inbounds double, ptr %".3", i64 %".19"
  %".21" = mul i64 %".1", 3
  %".22" = getelementptr inbounds double, ptr %".3", i64 %".21"
  %".23" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".2", i64 %".1")
  %".24" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".12", i64 %".1")
  %".25" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".14", i64 %".1")
  %".26" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".16", i64 %".1")
  %".27" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".18", i64 %".1")
  %".28" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".20", i64 %".1")
  %".29" = call i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".22", i64 %".1")
  %".30" = or i64 %".23", %".24"
  %".31" = or i64 %".30", %".25"
  %".32" = or i64 %".31", %".26"
  %".33" = or i64 %".32", %".27"
  %".34" = or i64 %".33", %".28"
  %".35" = or i64 %".34", %".29"
  %".36" = icmp eq i64 %".35", 0
  store i1 %".36", i1* %".7"
  br label %"entry.endif"
entry.endif:
  %".39" = load i1, i1* %".7"
  %".40" = select  i1 %".39", i64 1, i64 %".1"
  br label %"head"
head:
  %".42" = phi  i64 [0, %"entry.endif"], [%".199", %"body"]
  %".43" = icmp slt i64 %".42", %".40"
  br i1 %".43", label %"body", label %"after"
body:
  %".45" = sub i64 %".42", 1
  %".46" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  %".47" = load i64, ptr %".46"
  %".48" = add i64 %".47", 1
  %".49" = icmp eq i64 %".42", 0
  %".50" = select  i1 %".49", i64 %".42", i64 %".45"
  %".51" = zext i1 %".49" to i64
  %".52" = getelementptr inbounds i64, ptr %".2", i64 %".50"
  %".53" = load i64, ptr %".52"
  %".54" = xor i64 %".53", %".48"
  %".55" = or i64 %".51", %".54"
  %".56" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  %".57" = load i64, ptr %".56"
  %".58" = add i64 %".57", 1
  %".59" = mul i64 %".1", 1
  %".60" = getelementptr inbounds double, ptr %".3", i64 %".59"
  %".61" = getelementptr inbounds double, ptr %".60", i64 %".42"
  %".62" = load double, ptr %".61"
  %".63" = fptrunc double %".62" to float
  %".64" = call double @"llvm.fabs.f64"(double %".62")
  %".65" = fcmp olt double %".64", 0x380ffffff0000000
  %".66" = bitcast float %".63" to i32
  %".67" = and i32 %".66", 2147483648
  %".68" = select  i1 %".65", i32 %".67", i32 %".66"
  %".69" = bitcast i32 %".68" to float
  %".70" = fsub double 0x3ff0000000000000, %".62"
  %".71" = mul i64 %".1", 4
  %".72" = getelementptr inbounds double, ptr %".3", i64 %".71"
  %".73" = getelementptr inbounds double, ptr %".72", i64 %".42"
  %".74" = load double, ptr %".73"
  %".75" = fptrunc double %".74" to float
  %".76" = call double @"llvm.fabs.f64"(double %".74")
  %".77" = fcmp olt double %".76", 0x380ffffff0000000
  %".78" = bitcast float %".75" to i32
  %".79" = and i32 %".78", 2147483648
  %".80" = select  i1 %".77", i32 %".79", i32 %".78"
  %".81" = bitcast i32 %".80" to float
  %".82" = mul i64 %".1", 5
  %".83" = getelementptr inbounds double, ptr %".3", i64 %".82"
  %".84" = getelementptr inbounds double, ptr %".83", i64 %".42"
  %".85" = load double, ptr %".84"
  %".86" = fneg double %".85"
  %".87" = fptrunc double %".86" to float
  %".88" = call double @"llvm.fabs.f64"(double %".86")
  %".89" = fcmp olt double %".88", 0x380ffffff0000000
  %".90" = bitcast float %".87" to i32
  %".91" = and i32 %".90", 2147483648
  %".92" = select  i1 %".89", i32 %".91", i32 %".90"
  %".93" = bitcast i32 %".92" to float
  %".94" = fptrunc double %".85" to float
  %".95" = call double @"llvm.fabs.f64"(double %".85")
  %".96" = fcmp olt double %".95", 0x380ffffff0000000
  %".97" = bitcast float %".94" to i32
  %".98" = and i32 %".97", 2147483648
  %".99" = select  i1 %".96", i32 %".98", i32 %".97"
  %".100" = bitcast i32 %".99" to float
  %".101" = fptrunc double %".70" to float
  %".102" = call double @"llvm.fabs.f64"(double %".70")
  %".103" = fcmp olt double %".102", 0x380ffffff0000000
  %".104" = bitcast float %".101" to i32
  %".105" = and i32 %".104", 2147483648
  %".106" = select  i1 %".103", i32 %".105", i32 %".104"
  %".107" = bitcast i32 %".106" to float
  %".108" = mul i64 %".1", 2
  %".109" = getelementptr inbounds double, ptr %".3", i64 %".108"
  %".110" = getelementptr inbounds double, ptr %".109", i64 %".42"
  %".111" = load double, ptr %".110"
  %".112" = fptrunc double %".111" to float
  %".113" = call double @"llvm.fabs.f64"(double %".111")
  %".114" = fcmp olt double %".113", 0x380ffffff0000000
  %".115" = bitcast float %".112" to i32
  %".116" = and i32 %".115", 2147483648
  %".117" = select  i1 %".114", i32 %".116", i32 %".115"
  %".118" = bitcast i32 %".117" to float
  %".119" = fsub double 0x3ff0000000000000, %".111"
  %".120" = fptrunc double %".119" to float
  %".121" = call double @"llvm.fabs.f64"(double %".119")
  %".122" = fcmp olt double %".121", 0x380ffffff0000000
  %".123" = bitcast float %".120" to i32
  %".124" = and i32 %".123", 2147483648
  %".125" = select  i1 %".122", i32 %".124", i32 %".123"
  %".126" = bitcast i32 %".125" to float
  %".127" = mul i64 %".1", 0
  %".128" = getelementptr inbounds double, ptr %".3", i64 %".127"
  %".129" = getelementptr inbounds double, ptr %".128", i64 %".42"
  %".130" = load double, ptr %".129"
  %".131" = mul i64 %".1", 3
  %".132" = getelementptr inbounds double, ptr %".3", i64 %".131"
  %".133" = getelementptr inbounds double, ptr %".132", i64 %".42"
  %".134" = load double, ptr %".133"
  %".135" = fptrunc double %".134" to float
  %".136" = call double @"llvm.fabs.f64"(double %".134")
  %".137" = fcmp olt double %".136", 0x380ffffff0000000
  %".138" = bitcast float %".135" to i32
  %".139" = and i32 %".138", 2147483648
  %".140" = select  i1 %".137", i32 %".139", i32 %".138"
  %".141" = bitcast i32 %".140" to float
  %".142" = fptrunc double %".130" to float
  %".143" = call double @"llvm.fabs.f64"(double %".130")
  %".144" = fcmp olt double %".143", 0x380ffffff0000000
  %".145" = bitcast float %".142" to i32
  %".146" = and i32 %".145", 2147483648
  %".147" = select  i1 %".144", i32 %".146", i32 %".145"
  %".148" = bitcast i32 %".147" to float
  %".149" = mul i64 %".1", 0
  %".150" = add i64 %".149", %".42"
  %".151" = getelementptr inbounds double, ptr %".4", i64 %".150"
  %".152" = fpext float %".69" to double
  store double %".152", ptr %".151"
  %".154" = mul i64 %".1", 1
  %".155" = add i64 %".154", %".42"
  %".156" = getelementptr inbounds double, ptr %".4", i64 %".155"
  %".157" = fpext float %".81" to double
  store double %".157", ptr %".156"
  %".159" = mul i64 %".1", 3
  %".160" = add i64 %".159", %".42"
  %".161" = getelementptr inbounds double, ptr %".4", i64 %".160"
  %".162" = fpext float %".93" to double
  store double %".162", ptr %".161"
  %".164" = mul i64 %".1", 2
  %".165" = add i64 %".164", %".42"
  %".166" = getelementptr inbounds double, ptr %".4", i64 %".165"
  %".167" = fpext float %".100" to double
  store double %".167", ptr %".166"
  %".169" = mul i64 %".1", 4
  %".170" = add i64 %".169", %".42"
  %".171" = getelementptr inbounds double, ptr %".4", i64 %".170"
  %".172" = fpext float %".107" to double
  store double %".172", ptr %".171"
  %".174" = mul i64 %".1", 5
  %".175" = add i64 %".174", %".42"
  %".176" = getelementptr inbounds double, ptr %".4", i64 %".175"
  %".177" = fpext float %".118" to double
  store double %".177", ptr %".176"
  %".179" = mul i64 %".1", 6
  %".180" = add i64 %".179", %".42"
  %".181" = getelementptr inbounds double, ptr %".4", i64 %".180"
  %".182" = fpext float %".126" to double
  store double %".182", ptr %".181"
  %".184" = mul i64 %".1", 7
  %".185" = add i64 %".184", %".42"
  %".186" = getelementptr inbounds double, ptr %".4", i64 %".185"
  %".187" = fpext float %".141" to double
  store double %".187", ptr %".186"
  %".189" = mul i64 %".1", 8
  %".190" = add i64 %".189", %".42"
  %".191" = getelementptr inbounds double, ptr %".4", i64 %".190"
  %".192" = fpext float %".148" to double
  store double %".192", ptr %".191"
  %".194" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  %".195" = load i64, ptr %".194"
  %".196" = add i64 %".195", 1
  %".197" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  store i64 %".196", ptr %".197"
  %".199" = add nsw nuw i64 %".42", 1
  br label %"head"
after:
  br i1 %".39", label %"after.if", label %"after.endif"
after.if:
  %".202" = mul i64 %".1", 0
  %".203" = add i64 %".202", 0
  %".204" = getelementptr inbounds double, ptr %".4", i64 %".203"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".204", i64 %".1")
  %".206" = mul i64 %".1", 1
  %".207" = add i64 %".206", 0
  %".208" = getelementptr inbounds double, ptr %".4", i64 %".207"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".208", i64 %".1")
  %".210" = mul i64 %".1", 3
  %".211" = add i64 %".210", 0
  %".212" = getelementptr inbounds double, ptr %".4", i64 %".211"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".212", i64 %".1")
  %".214" = mul i64 %".1", 2
  %".215" = add i64 %".214", 0
  %".216" = getelementptr inbounds double, ptr %".4", i64 %".215"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".216", i64 %".1")
  %".218" = mul i64 %".1", 4
  %".219" = add i64 %".218", 0
  %".220" = getelementptr inbounds double, ptr %".4", i64 %".219"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".220", i64 %".1")
  %".222" = mul i64 %".1", 5
  %".223" = add i64 %".222", 0
  %".224" = getelementptr inbounds double, ptr %".4", i64 %".223"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".224", i64 %".1")
  %".226" = mul i64 %".1", 6
  %".227" = add i64 %".226", 0
  %".228" = getelementptr inbounds double, ptr %".4", i64 %".227"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".228", i64 %".1")
  %".230" = mul i64 %".1", 7
  %".231" = add i64 %".230", 0
  %".232" = getelementptr inbounds double, ptr %".4", i64 %".231"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".232", i64 %".1")
  %".234" = mul i64 %".1", 8
  %".235" = add i64 %".234", 0
  %".236" = getelementptr inbounds double, ptr %".4", i64 %".235"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".236", i64 %".1")
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".2", i64 %".1")
  br label %"after.endif"
after.endif:
  ret void
}

define internal i64 @"lion_cuda_abb871a02066_x86_64_v3.host.body.is_even"(ptr %".1", i64 %".2") "denormal-fp-math"="dynamic,dynamic" noinline nounwind
{
entry:
  %".4" = getelementptr inbounds i64, ptr %".1", i64 0
  %".5" = load i64, ptr %".4"
  %".6" = alloca i64
  store i64 0, i64* %".6"
  %".8" = insertelement <8 x i64> <i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef>, i64 %".5", i32 0
  %".9" = shufflevector <8 x i64> %".8", <8 x i64> %".8", <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".10" = alloca <8 x i64>
  store <8 x i64> <i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0>, <8 x i64>* %".10"
  %".12" = and i64 %".2", -8
  br label %"head"
head:
  %".14" = phi  i64 [0, %"entry"], [%".23", %"body"]
  %".15" = icmp slt i64 %".14", %".12"
  br i1 %".15", label %"body", label %"after"
body:
  %".17" = getelementptr inbounds i64, ptr %".1", i64 %".14"
  %".18" = load <8 x i64>, ptr %".17", align 8
  %".19" = load <8 x i64>, <8 x i64>* %".10"
  %".20" = xor <8 x i64> %".18", %".9"
  %".21" = or <8 x i64> %".19", %".20"
  store <8 x i64> %".21", <8 x i64>* %".10"
  %".23" = add nsw nuw i64 %".14", 8
  br label %"head"
after:
  br label %"head.1"
head.1:
  %".26" = phi  i64 [%".12", %"after"], [%".35", %"body.1"]
  %".27" = icmp slt i64 %".26", %".2"
  br i1 %".27", label %"body.1", label %"after.1"
body.1:
  %".29" = load i64, i64* %".6"
  %".30" = getelementptr inbounds i64, ptr %".1", i64 %".26"
  %".31" = load i64, ptr %".30"
  %".32" = xor i64 %".31", %".5"
  %".33" = or i64 %".29", %".32"
  store i64 %".33", i64* %".6"
  %".35" = add nsw nuw i64 %".26", 1
  br label %"head.1", !llvm.loop !1
after.1:
  %".37" = load <8 x i64>, <8 x i64>* %".10"
  %".38" = call i64 @"llvm.vector.reduce.or.v8i64"(<8 x i64> %".37")
  %".39" = load i64, i64* %".6"
  %".40" = or i64 %".38", %".39"
  ret i64 %".40"
}

declare i64 @"llvm.vector.reduce.or.v8i64"(<8 x i64> %".1")

declare double @"llvm.fabs.f64"(double %".1")

define internal void @"lion_cuda_abb871a02066_x86_64_v3.host.body.fill"(ptr %".1", i64 %".2") "denormal-fp-math"="dynamic,dynamic" noinline nounwind
{
entry:
  %".4" = getelementptr inbounds i64, ptr %".1", i64 0
  %".5" = load i64, ptr %".4"
  %".6" = insertelement <8 x i64> <i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef>, i64 %".5", i32 0
  %".7" = shufflevector <8 x i64> %".6", <8 x i64> %".6", <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".8" = and i64 %".2", -8
  br label %"head"
head:
  %".10" = phi  i64 [0, %"entry"], [%".15", %"body"]
  %".11" = icmp slt i64 %".10", %".8"
  br i1 %".11", label %"body", label %"after"
body:
  %".13" = getelementptr inbounds i64, ptr %".1", i64 %".10"
  store <8 x i64> %".7", ptr %".13", align 8
  %".15" = add nsw nuw i64 %".10", 8
  br label %"head"
after:
  br label %"head.1"
head.1:
  %".18" = phi  i64 [%".8", %"after"], [%".23", %"body.1"]
  %".19" = icmp slt i64 %".18", %".2"
  br i1 %".19", label %"body.1", label %"after.1"
body.1:
  %".21" = getelementptr inbounds i64, ptr %".1", i64 %".18"
  store i64 %".5", ptr %".21"
  %".23" = add nsw nuw i64 %".18", 1
  br label %"head.1", !llvm.loop !2
after.1:
  ret void
}

define internal void @"lion_cuda_abb871a02066_x86_64_v3.host"(ptr %".1") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".3" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".4" = load ptr, ptr %".3"
  %".5" = getelementptr inbounds double, ptr %".4", i64 0
  %".6" = getelementptr inbounds i64, ptr %".1", i64 0
  %".7" = load i64, ptr %".6"
  %".8" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".9" = load ptr, ptr %".8"
  %".10" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".11" = load ptr, ptr %".10"
  %".12" = mul i64 %".7", 9
  %".13" = getelementptr inbounds double, ptr %".5", i64 %".12"
  %".14" = getelementptr inbounds ptr, ptr %".1", i64 3
  %".15" = load ptr, ptr %".14"
  %".16" = getelementptr inbounds ptr, ptr %".1", i64 4
  %".17" = load ptr, ptr %".16"
  call void @"lion_cuda_abb871a02066_x86_64_v3.host.body"(i64 %".7", ptr %".15", ptr %".17", ptr %".5", ptr %".9")
  ret void
}

define hidden void @"lion_cuda_abb871a02066_x86_64_v3"(ptr %".1") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".3" = alloca i32
  %".4" = alloca i32
  store i32 8064, i32* %".4"
  call void @"llvm.x86.sse.stmxcsr"(i32* %".3")
  call void @"llvm.x86.sse.ldmxcsr"(i32* %".4")
  call void @"lion_cuda_abb871a02066_x86_64_v3.host"(ptr %".1")
  call void @"llvm.x86.sse.ldmxcsr"(i32* %".3")
  ret void
}

declare void @"llvm.x86.sse.stmxcsr"(ptr %".1")

declare void @"llvm.x86.sse.ldmxcsr"(ptr %".1")

!0 = !{ !"llvm.loop.vectorize.width", i32 1 }
!1 = distinct !{ !1, !0 }
!2 = distinct !{ !2, !0 }
